#!/usr/bin/env bash
# Usage: fake_test.sh BUILD_FOLDER: gpu_prepare and gpu_run against the fake device.
set -eu -o pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$1/lib/fake_cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# expect CODE WHAT COMMAND...
expect() {
  local wanted=$1 what=$2 code=0
  shift 2
  "$@" || code=$?
  [ "$code" = "$wanted" ] || { echo "fake_test: $what: exit code $code instead of $wanted" >&2; exit 1; }
}
run() { "$1/bin/gpu_run" "$folder/gpu" "$folder/result.json" | tee "$folder/table"; }

"$1/bin/gpu_prepare" --quick --arch sm_90 --output "$folder/gpu"
# Threads that are fibers on one processor copy slower than its memcpy.
expect 3 "a slow device" run "$1"
grep -q '"what": "device", "value": "Fake GPU, sm_90' "$folder/result.json"
grep -q '"what": "copy", .*"good": true, .*"target": 90, "met": false' "$folder/result.json"
grep -q '^copy .*<-- BELOW 90%' "$folder/table"
grep -q "all is right, but some kernels are below their targets" "$folder/table"
CUDA_FAKE_INIT_ERROR=100 expect 77 "no device" run "$1"
CUDA_FAKE_FAIL_LAUNCH=1 expect 1 "a launch that fails" run "$1"
