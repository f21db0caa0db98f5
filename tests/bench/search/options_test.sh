#!/usr/bin/env bash
# What search_replay and search_bench say to options that they cannot do anything with; nothing is measured.
# Usage: options_test.sh SEARCH_REPLAY SEARCH_BENCH
set -u

replay=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# expect CODE TEXT ARGUMENT...
expect() {
  local code=0 wanted=$1 text=$2 said
  shift 2
  said=$("$replay" "$@" 2>&1) || code=$?
  if [ "$code" = "$wanted" ] && [[ $said == *"$text"* ]]; then return; fi
  printf 'search_replay %s: exit %s, not %s with "%s":\n%s\n' "$*" "$code" "$wanted" "$text" "$said" >&2
  failed=1
}

expect 2 "search_replay record: --minutes: '0' is not a finite number above 0" record --minutes 0
expect 2 'search_replay tasks: there is no option --json' tasks --json
expect 2 'search_replay record: there is no option --plots' record --plots "$work"
expect 2 'search_replay races: there is no option --minutes' races --minutes 1
expect 2 "search_replay replay: no task's name has '^x\$'" replay --tasks '^x$'
expect 1 'search_replay replay: nothing is recorded of these tasks' replay --pools "$work"
expect 1 "search_replay replay: --pools $0 is no folder" replay --pools "$0"
expect 1 "search_replay replay: --json $work/no/file: there is no folder $work/no" \
  replay --pools "$work" --json "$work/no/file"
expect 1 "search_replay quality: --json $work is a folder" quality --pools "$work" --json "$work"
expect 1 "search_replay replay: --plots $work/no/plots: " replay --pools "$work" --plots "$work/no/plots"
[ ! -e "$work/no" ] || { echo "folders were made on the way to the last" >&2; failed=1; }
echo '{"peak_gflops": "many"}' >"$work/machine.json"
expect 1 "$work/machine.json is not what \`search_replay record\` writes: nothing of it is used" \
  replay --pools "$work"
expect 2 "the sandbox has no part 'roof'" record --pools "$work" --without-sandbox roof
for command in record replay quality fit explain races tasks; do
  expect 0 "Example: search_replay $command " "$command" --help
done
for trials in 0 -4 many 3x; do
  said=$("$2" --trials=$trials 2>&1) && { echo "search_bench took --trials=$trials" >&2; failed=1; }
  [[ $said == "search_bench: --trials=$trials is not a whole number from 1 to 1000000" ]] || { echo "$said" >&2; failed=1; }
done
exit $failed
