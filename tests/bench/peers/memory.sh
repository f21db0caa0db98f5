#!/usr/bin/env bash
# The memory that networks need for activations, beside their weights, here and in ONNX Runtime.
# Usage: tests/bench/peers/memory.sh [NETWORK…]    of `compiler zoo list` [resnet50 densenet121 bert_base]
set -euo pipefail
cd "$(dirname "$0")/../../.."
networks=("$@")
[ ${#networks[@]} -gt 0 ] || networks=(resnet50 densenet121 bert_base)
bin=$PWD/build/release/bin
export NODE_PATH=$PWD/build/peers/node_modules
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%-20s %10s %10s   %18s %14s\n' network 'ours MB' workspace 'ONNX Runtime: plan' 'arena MB'
for network in "${networks[@]}"; do
  "$bin/compiler" zoo "$network" -o "$work/net.onnx" 2>/dev/null
  "$bin/compiler" build "$work/net.onnx" -o "$work/built" --json >"$work/built.json"
  node tests/bench/peers/memory.js "$work/net.onnx" 2>"$work/log"
  node tests/bench/peers/memory.js --report "$network" "$work/built.json" "$work/log"
done
