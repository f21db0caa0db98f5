# What the benches' scripts do with their command line; sourced by them. The usage is the comment at the script's top.

refuse() {
  echo "$(basename "$0"): $1" >&2
  exit 2
}
# usage WORD: help where it was asked for, else a refusal of the word.
usage() {
  if [[ $1 =~ ^(-h|--help)$ ]]; then
    sed -n 's/^# Usage: /usage: /p; s/^#   //p' "$0"
    exit 0
  fi
  sed -n 's/^# Usage: /usage: /p' "$0" >&2
  refuse "there is no option $1; --help explains those that there are"
}
# want_value and want_number take the rest of the command line, whose first word is the option.
want_value() {
  [ $# -gt 1 ] || refuse "$1 wants a value"
}
want_number() {
  want_value "$@"
  [[ $2 =~ ^[0-9]+([.][0-9]+)?$ ]] || refuse "$1 $2: expected a number"
}
