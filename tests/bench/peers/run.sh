#!/usr/bin/env bash
# Latency of zoo networks against ONNX Runtime, in turns within one window; untuned and, with --db, tuned.
# Usage: tests/bench/peers/run.sh [--quick] [--json FILE] [--db FILE] [--threads N] [NETWORK…]
# NETWORKs are those of `compiler zoo list`; squeezenet if there is none. Databases are made by `tuner tune` of the
# same networks (`compiler zoo NAME -o NAME.onnx`) for `--target host` and as many threads.
set -euo pipefail
json= db= threads=1 rounds=15 runs=10 networks=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) rounds=3 runs=5 ;;
    --json) json=$(realpath -m "$2") && shift ;;
    --db) db=$(realpath "$2") && shift ;;
    --threads) threads=$2 && shift ;;
    -*) sed -n 's/^# Usage: /usage: /p' "$0" >&2 && exit 2 ;;
    *) networks+=("$1") ;;
  esac
  shift
done
[ ${#networks[@]} -gt 0 ] || networks=(squeezenet)

cd "$(dirname "$0")/../../.."
deploy/install_peers.sh >&2
export NODE_PATH=$PWD/build/peers/node_modules
[ -f build/release/build.ninja ] || cmake --preset release >&2
cmake --build build/release --target compiler build_worker >&2
compiler=$PWD/build/release/bin/compiler
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compare NETWORK NAME ARGUMENTS-OF-BUILD…
compare() {
  local model=$work/$1.onnx built=$work/$2 name=$2
  shift 2
  "$compiler" build "$model" --target host --threads "$threads" "$@" -o "$built" | tail -1 >&2
  node tests/bench/peers/compare.js --compiler "$compiler" --model "$model" --built "$built" --name "$name" \
    --threads "$threads" --rounds "$rounds" --runs "$runs" >>"$work/rows"
}
for network in "${networks[@]}"; do
  "$compiler" zoo "$network" -o "$work/$network.onnx" 2>/dev/null
  compare "$network" "$network.untuned"
  [ -z "$db" ] || compare "$network" "$network.tuned" --db "$db"
done
rows=$(paste -sd, "$work/rows")
[ -z "$json" ] || echo "[$rows]" >"$json"
