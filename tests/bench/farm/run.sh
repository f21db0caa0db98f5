#!/bin/bash
# What a farm carries; docs/explanation/farm-benchmark.md says what each figure means.
# Usage: tests/bench/farm/run.sh [--quick] [--soak] [--json FILE]
set -euo pipefail
source "$(dirname "$0")/../options.sh"

overhead_s=5 load_s=600 idle_agents=10000 idle_s=120 soak_s=0 agents=1000 one_idle_s=60 json=
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) overhead_s=1 load_s=10 idle_agents=500 idle_s=15 agents=200 one_idle_s=10 ;;
    --soak) soak_s=1200 ;;
    --json) want_value "$@" && json=$(realpath -m "$2") && shift ;;
    *) usage "$1" ;;
  esac
  shift
done

cd "$(dirname "$0")/../../.."
cmake --preset release >/dev/null
cmake --build build/release --target farm_bench farm_load fleet_bench idle_agent spread >&2
bin=build/release/bin
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "trials through a real tracker and agent" >&2
$bin/farm_bench --benchmark_min_time=$overhead_s --benchmark_out="$folder/overhead" --benchmark_out_format=json
echo "one job on several boards" >&2
$bin/fleet_bench --benchmark_min_time=$overhead_s --benchmark_out="$folder/fleet" --benchmark_out_format=json
$bin/spread >&2
echo "one idle agent" >&2
$bin/idle_agent --seconds $one_idle_s --json "$folder/idle_agent"
# Not every agent's trial is on time, so a little more is offered than the thousand results a second. What others
# have written goes to the disk first: a grant waits for that disk.
sync
echo "load, then a storm of reconnects" >&2
$bin/farm_load --agents $agents --seconds $load_s --trial-ms 950 --storm --json "$folder/load"
echo "idle agents" >&2
$bin/farm_load --agents $idle_agents --tuners 0 --seconds $idle_s --json "$folder/idle"
if [ $soak_s -gt 0 ]; then
  echo "soak" >&2
  $bin/farm_load --agents $agents --seconds $soak_s --trial-ms 950 --json "$folder/soak"
fi
if [ -n "$json" ]; then
  {
    separator="{"
    for part in "$folder"/*; do
      printf "%s\"%s\": " "$separator" "$(basename "$part")"
      cat "$part"
      separator=,
    done
    echo "}"
  } >"$json"
fi
