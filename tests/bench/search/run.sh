#!/usr/bin/env bash
# What a candidate costs on its way through the tuner, candidates and trials a second, share of time measured.
# Usage: tests/bench/search/run.sh [--quick] [--json FILE]
set -euo pipefail

seconds=2 trials=300 arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) seconds=0.2 trials=40 ;;
    --json) arguments+=("--benchmark_out=$(realpath -m "$2")" --benchmark_out_format=json) && shift ;;
    *) echo "usage: $0 [--quick] [--json FILE]" >&2 && exit 2 ;;
  esac
  shift
done

cd "$(dirname "$0")/../../.."
[ -f build/release/build.ninja ] || cmake --preset release >&2
cmake --build build/release --target search_bench >&2
exec build/release/bin/search_bench --benchmark_min_time=$seconds --trials=$trials "${arguments[@]}"
