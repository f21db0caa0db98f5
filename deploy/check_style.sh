#!/usr/bin/env bash
# Checks what clang-format and clang-tidy decide.
#   deploy/check_style.sh [--tidy [SECONDS]]
# Without options: the format of every C and C++ file of the repository (15 s). With --tidy also what clang-tidy finds in
# lines that differ from the upstream branch, for SECONDS [300] at most (deploy/tidy_changed.py).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tidy=
case ${1-} in
  '') ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
  --tidy) tidy=${2:-300} ;;
  *) echo "check_style.sh: unknown argument $1; see --help" >&2; exit 2 ;;
esac

git ls-files -z '*.h' '*.cpp' '*.c' | xargs -0 -n 100 -P "$(nproc)" clang-format --dry-run -Werror ||
  { echo "check_style.sh: clang-format -i FILE formats a file" >&2; exit 1; }
echo "format: $(git ls-files '*.h' '*.cpp' '*.c' | wc -l) files are formatted"
[ -n "$tidy" ] || exit 0
exec python3 deploy/tidy_changed.py "$tidy"
