#!/usr/bin/env bash
# Usage: fake_test.sh BUILD_FOLDER: gpu_prepare and gpu_run against the fake device.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$1/lib/fake_cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$1/bin/gpu_prepare" --quick --arch sm_90 --output "$folder/gpu"
"$1/bin/gpu_run" "$folder/gpu" "$folder/result.json" | tee "$folder/table"
grep -q '"what": "device", "value": "Fake GPU, sm_90' "$folder/result.json"
grep -q "all good" "$folder/table"
CUDA_FAKE_INIT_ERROR=100 "$1/bin/gpu_run" "$folder/gpu" && exit 1
[ $? = 77 ] || { CUDA_FAKE_INIT_ERROR=100 "$1/bin/gpu_run" "$folder/gpu" || [ $? = 77 ]; }
