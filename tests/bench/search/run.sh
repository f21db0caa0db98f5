#!/usr/bin/env bash
# What a candidate costs in the tuner; strategies against each other and models against measurements, on recorded
# pools; README.md says what each figure means.
# Usage: tests/bench/search/run.sh [--quick] [--json FILE] [--pools DIR] [--minutes M] [--tasks REGEX] [--strategies LIST] [--seeds N] [--trials N] [--candidates N] [--visits N]
#   --quick       three tasks, two seeds, 24 trials, in pools of their own: a few minutes that show that all of it runs
#   --pools DIR   what was recorded, a database a task; recording adds to it [build/search]
#   --minutes M   record for at most so long; the next call goes on [until everything is recorded]
#   --strategies LIST   what is compared [evolutionary,ansor,random,evolutionary@others]
#   --tasks, --seeds, --trials, --candidates, --visits   as in `search_replay record --help`
set -euo pipefail

source "$(dirname "$0")/../options.sh"
quick= json= pools= seconds=2 built=300
declare -A options=()  # of search_replay, each as it was given
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=1 ;;
    --json)
      want_value "$@" && json=$(realpath -m "$2") && shift
      [ -d "$(dirname "$json")" ] || refuse "--json: there is no folder $(dirname "$json")" ;;
    --pools) want_value "$@" && pools=$(realpath -m "$2") && shift ;;
    --tasks | --strategies) want_value "$@" && options[$1]=$2 && shift ;;
    --minutes)
      want_number "$@" && options[$1]=$2 && shift
      [[ $1 =~ [1-9] ]] || refuse "--minutes $1: expected more than 0" ;;
    --seeds | --trials | --candidates | --visits) want_number "$@" && options[$1]=$2 && shift ;;
    *) usage "$1" ;;
  esac
  shift
done
# unless_given OPTION VALUE
unless_given() {
  options[$1]=${options[$1]-$2}
}
# pick OPTION...: into `picked` come the pools, and those of these options that have a value
pick() {
  local option
  picked=(--pools "$pools")
  for option in "$@"; do
    if [ -n "${options[$option]+set}" ]; then picked+=("$option" "${options[$option]}"); fi
  done
}

cd "$(dirname "$0")/../../.."
unless_given --strategies evolutionary,ansor,random,evolutionary@others
if [ -n "$quick" ]; then
  seconds=0.2 built=40 pools=${pools:-$PWD/build/search-quick}
  unless_given --tasks 'gemm_512|3x3_256_256_14|depthwise'
  unless_given --seeds 2
  unless_given --trials 24
  unless_given --candidates 120
  unless_given --visits 4
fi
pools=${pools:-$PWD/build/search}
plots=$pools/plots
cmake --preset release >&2
cmake --build build/release --target search_bench search_replay >&2
bin=build/release/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin/search_bench" --benchmark_min_time=$seconds --trials=$built --benchmark_out="$work/costs" \
  --benchmark_out_format=json
pick --tasks --strategies --seeds --trials --candidates --visits --minutes
"$bin/search_replay" record "${picked[@]}"
pick --tasks --strategies --seeds --trials
"$bin/search_replay" replay "${picked[@]}" --plots "$plots" --json "$work/replay"
pick --tasks --candidates
"$bin/search_replay" quality "${picked[@]}" --plots "$plots" --json "$work/quality"
pick --tasks
"$bin/search_replay" races "${picked[@]}" --json "$work/races"
if command -v gnuplot >/dev/null; then
  gnuplot -c tests/bench/search/plots.gp "$plots"
  echo "plots: $plots/{trials,device_seconds,recall,quality}.svg" >&2
else
  echo "no plots were drawn: gnuplot is not installed (deploy/install_peers.sh --libraries installs it)" >&2
fi
[ -z "$json" ] || echo "{\"costs\": $(cat "$work/costs"), \"replay\": $(cat "$work/replay"), \"quality\": $(cat "$work/quality"), \"races\": $(cat "$work/races")}" >"$json"
