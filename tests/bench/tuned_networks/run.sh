#!/usr/bin/env bash
# Networks tuned by an agent on loopback for a minute each, default schedules against what was found, and ONNX Runtime's answers.
# Usage: tests/bench/tuned_networks/run.sh [--quick] [--json FILE] [--device DEVICE] [--target TARGET] [--minutes M] [NETWORK…]
#   --quick           squeezenet alone
#   --device DEVICE   as of device_agent [opencl:0]
#   --target TARGET   that runs there [opencl]
#   NETWORK…          of `compiler zoo list` [squeezenet mobilenet_v2 bert_mini]
set -euo pipefail
source "$(dirname "$0")/../options.sh"
options=() networks=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) networks=(squeezenet) ;;
    --json) want_value "$@" && options+=(--json "$(realpath -m "$2")") && shift ;;
    --device | --target) want_value "$@" && options+=("$1" "$2") && shift ;;
    --minutes) want_number "$@" && options+=("$1" "$2") && shift ;;
    -*) usage "$1" ;;
    *) networks+=("$1") ;;
  esac
  shift
done
cd "$(dirname "$0")/../../.."
deploy/install_peers.sh >&2
cmake --preset release >/dev/null
cmake --build build/release --target tuned_networks >&2
build/release/bin/tuned_networks "${options[@]}" "${networks[@]}"
