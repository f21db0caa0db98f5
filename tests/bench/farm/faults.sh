#!/bin/bash
# What a farm survives, and what that costs; docs/explanation/farm-benchmark.md says what each figure means.
# Usage: tests/bench/farm/faults.sh [--quick] [--seed S] [--json FILE]
set -euo pipefail
source "$(dirname "$0")/../options.sh"

kills=200 seed= json=
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) kills=20 ;;
    --seed) want_number "$@" && seed=$2 && shift ;;
    --json) want_value "$@" && json=$(realpath -m "$2") && shift ;;
    *) usage "$1" ;;
  esac
  shift
done

cd "$(dirname "$0")/../../.."
cmake --preset release >/dev/null
cmake --build build/release --target farm_kills device_worker_bench tracker_bench >&2
bin=build/release/bin
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "$kills deaths" >&2
$bin/farm_kills --kills $kills ${seed:+--seed "$seed"} | tee "$folder/kills"
echo "honest kernels between hostile ones" >&2
$bin/device_worker_bench --benchmark_filter=BM_GoldenAfterHostile --benchmark_out="$folder/hostile" --benchmark_out_format=json
echo "from a restart to the first lease" >&2
$bin/tracker_bench --benchmark_filter=BM_RestartToFirstLease --benchmark_out="$folder/restart" --benchmark_out_format=json
if [ -n "$json" ]; then
  printf '{"kills": "%s", "hostile": %s, "restart": %s}\n' "$(tail -n 1 "$folder/kills")" "$(cat "$folder/hostile")" \
    "$(cat "$folder/restart")" >"$json"
fi
