#!/usr/bin/env bash
# Single operators and recurrent networks against ONNX Runtime, in turns, with default schedules and one thread.
# Usage: tests/bench/peers/operators.sh [--rounds N] [--runs N] [--json FILE] [NAME…]
#   --rounds N  turns of both [31]
#   --runs N    of each in a turn [20]
#   --json FILE all figures, one model a line
#   NAME…       of the models that operator_models writes [all]
set -euo pipefail
source "$(dirname "$0")/../options.sh"
rounds=31 runs=20 json= names=()
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) want_number "$@" && rounds=$2 && shift ;;
    --runs) want_number "$@" && runs=$2 && shift ;;
    --json) want_value "$@" && json=$(realpath -m "$2") && shift ;;
    -*) usage "$1" ;;
    *) names+=("$1") ;;
  esac
  shift
done
cd "$(dirname "$0")/../../.."
deploy/install_peers.sh >&2
export NODE_PATH=$PWD/build/peers/node_modules
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target compiler build_worker operator_models >&2
bin=$PWD/build/release/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t all < <("$bin/operator_models" "$work")
[ ${#names[@]} -gt 0 ] || names=("${all[@]}")

printf '%-24s %2s %10s %10s %7s  %s\n' operator th 'ours ms' 'theirs ms' peak 'times as fast [95%]   difference' >&2
for name in "${names[@]}"; do
  [ -f "$work/$name.onnx" ] || refuse "$name: there are ${all[*]}"
  "$bin/compiler" build "$work/$name.onnx" --threads 1 -o "$work/built" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  node tests/bench/peers/networks.js --compiler "$bin/compiler" --model "$work/$name.onnx" --built "$work/built" \
    --name "$name" --rounds "$rounds" --runs "$runs" >>"$work/rows"
done
[ -z "$json" ] || mv "$work/rows" "$json"
