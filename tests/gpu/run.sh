#!/usr/bin/env bash
# Usage: tests/gpu/run.sh [--prepare [--arch sm_90a]] [--quick] [--json FILE]
# With --prepare, on a machine with NVRTC: compiles what is needed into build/release/gpu (no GPU is needed). Without: runs it on
# a machine with a GPU, within 10 minutes, prints a table, writes JSON. Exit code: 0; 1 something is wrong; 3 all is right, but a kernel
# is below its target; 77 there is no GPU.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
bin=$here/build/release/bin
folder=$here/build/release/gpu
json=$folder/result.json
prepare= quick=() arch=sm_90a
while [ $# -gt 0 ]; do
  case $1 in
    --prepare) prepare=1 ;;
    --quick) quick=(--quick) ;;
    --arch) arch=$2; shift ;;
    --json) json=$2; shift ;;
    *) echo "run.sh: there is no option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -n "$prepare" ]; then
  "$bin/gpu_prepare" --output "$folder" --arch "$arch" "${quick[@]}" || exit $?
  cp "$bin/gpu_run" "$folder/"
  du -sh "$folder"
  exit 0
fi
program=$folder/gpu_run
[ -x "$program" ] || program=$bin/gpu_run
[ -x "$program" ] || { echo "run.sh: nothing is built: run tests/gpu/run.sh --prepare first" >&2; exit 2; }
timeout 600 "$program" "$folder" "$json"
code=$?
[ $code = 124 ] && echo "run.sh: it took more than 10 minutes" >&2 && exit 1
exit $code
