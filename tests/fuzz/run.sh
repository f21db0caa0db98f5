#!/usr/bin/env bash
# Fuzzes each target for a while, from its corpus. Exit code 1: one crashed; its input is kept and named.
# Usage: tests/fuzz/run.sh [--seconds S] [--keep] [TARGET…]
#   --seconds S   of each target [30]
#   --keep        add what reaches new code to the corpus, the shortest inputs that do [the corpus stays as it is]
#   TARGET…       as in README.md [all]
set -euo pipefail

seconds=30 keep= targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,6s/^# *//p' "$0"; exit 0 ;;
    --seconds) seconds=${2:?--seconds wants a number}; shift ;;
    --keep) keep=1 ;;
    -*) echo "run.sh: there is no option '$1'; --help lists them" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
cd "$(dirname "$0")/../.."
source=tests/fuzz
all=()
for file in "$source"/*_fuzz.cpp; do all+=("$(basename "$file" _fuzz.cpp)"); done
for target in "${targets[@]}"; do
  [ -f "$source/${target}_fuzz.cpp" ] || { echo "run.sh: there is no target '$target': ${all[*]}" >&2; exit 2; }
done
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")

# The fuzzers are linked with the release build's modules.
cmake --preset release >&2
cmake --build build/release --target tf_service tf_web tf_tracker tf_device_worker tf_proto_config >&2
cmake --preset fuzz >&2
cmake --build build/fuzz --target "${targets[@]/%/_fuzz}" >&2
found=build/fuzz/found
mkdir -p "$found"

fuzz() {
  local target=$1 new
  new=$(mktemp -d)
  local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1
    -artifact_prefix="$found/$target.")
  [ ! -f "$source/$target.dict" ] || options+=(-dict="$source/$target.dict")
  local code=0
  "build/fuzz/bin/${target}_fuzz" "${options[@]}" "$new" "$source/corpus/$target" >"$found/$target.log" 2>&1 || code=$?
  [ -z "$keep" ] || "build/fuzz/bin/${target}_fuzz" -merge=1 "$source/corpus/$target" "$new" >/dev/null 2>&1
  rm -rf "$new"
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$target.log")
  if [ "$code" = 0 ]; then
    echo "$target: ${runs:-0} inputs in $seconds s"
  else
    echo "$target: FAILED after ${runs:-?} inputs; see $found/$target.log and $found/$target.*" >&2
    grep -m 3 -E 'ERROR|SUMMARY|CHECK|runtime error' "$found/$target.log" >&2 || true
    return 1
  fi
}

# As many at a time as there are CPUs.
failed=0 running=0
for target in "${targets[@]}"; do
  [ "$running" -lt "$(nproc)" ] || { wait -n || failed=1; running=$((running - 1)); }
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do wait -n || failed=1; running=$((running - 1)); done
exit "$failed"
