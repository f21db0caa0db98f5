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
quick= json= pools= seconds=2 built=300 record=() options=()
strategies=evolutionary,ansor,random,evolutionary@others
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=1 ;;
    --json) want_value "$@" && json=$(realpath -m "$2") && shift ;;
    --pools) want_value "$@" && pools=$(realpath -m "$2") && shift ;;
    --minutes) want_number "$@" && record+=("$1" "$2") && shift ;;
    --strategies) want_value "$@" && strategies=$2 && shift ;;
    --tasks) want_value "$@" && options+=("$1" "$2") && shift ;;
    --seeds | --trials | --candidates | --visits) want_number "$@" && options+=("$1" "$2") && shift ;;
    *) usage "$1" ;;
  esac
  shift
done

cd "$(dirname "$0")/../../.."
if [ -n "$quick" ]; then
  seconds=0.2 built=40 pools=${pools:-$PWD/build/search-quick}
  options=(--tasks 'gemm_512|3x3_256_256_14|depthwise' --seeds 2 --trials 24 --candidates 120 --visits 4 "${options[@]}")
fi
pools=${pools:-$PWD/build/search}
options+=(--strategies "$strategies")
plots=$pools/plots
[ -f build/release/build.ninja ] || cmake --preset release >&2
cmake --build build/release --target search_bench search_replay >&2
bin=build/release/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$bin/search_bench" --benchmark_min_time=$seconds --trials=$built --benchmark_out="$work/costs" \
  --benchmark_out_format=json
"$bin/search_replay" record --pools "$pools" "${options[@]}" "${record[@]}"
"$bin/search_replay" replay --pools "$pools" "${options[@]}" --plots "$plots" --json "$work/replay"
"$bin/search_replay" quality --pools "$pools" "${options[@]}" --plots "$plots" --json "$work/quality"
"$bin/search_replay" races --pools "$pools" "${options[@]}" --json "$work/races"
if command -v gnuplot >/dev/null; then
  gnuplot -c tests/bench/search/plots.gp "$plots"
  echo "plots: $plots/{trials,device_seconds,recall,quality}.svg" >&2
else
  echo "no plots were drawn: gnuplot is not installed (deploy/install_peers.sh --libraries installs it)" >&2
fi
[ -z "$json" ] || echo "{\"costs\": $(cat "$work/costs"), \"replay\": $(cat "$work/replay"), \"quality\": $(cat "$work/quality"), \"races\": $(cat "$work/races")}" >"$json"
