#!/bin/bash
# Trials a second through tracker and agent, and the share of time in timed samples.
# Usage: tests/bench/farm/run.sh [--quick] [--json FILE]
set -euo pipefail
source "$(dirname "$0")/../options.sh"

seconds=5
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) seconds=1 ;;
    --json) want_value "$@" && arguments+=("--benchmark_out=$(realpath -m "$2")" --benchmark_out_format=json) && shift ;;
    *) usage "$1" ;;
  esac
  shift
done

cd "$(dirname "$0")/../../.."
cmake --preset release >/dev/null
cmake --build build/release --target farm_bench >&2
exec build/release/bin/farm_bench --benchmark_min_time=$seconds "${arguments[@]}"
