#!/bin/bash
# Trials a second through tracker and agent, and the share of time in timed samples.
# Usage: tests/bench/farm/run.sh [--quick] [--json FILE]
set -euo pipefail
cd "$(dirname "$0")/../../.."

seconds=5
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) seconds=1 ;;
    --json) shift; arguments+=("--benchmark_out=$1" --benchmark_out_format=json) ;;
    *) echo "usage: $0 [--quick] [--json FILE]" >&2; exit 2 ;;
  esac
  shift
done

cmake --preset release >/dev/null
cmake --build build/release --target farm_bench >&2
exec build/release/bin/farm_bench --benchmark_min_time=$seconds "${arguments[@]}"
