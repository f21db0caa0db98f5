#!/usr/bin/env bash
# Compiles one kernel by two schedules written by hand, and times both.
example=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$example/../common.sh"

for schedule in plain tiled; do
  tunefarm compiler kernel "$example/matmul.workload" --with "$example/$schedule.schedule" -o "./$schedule.so"
done
tunefarm compiler kernel "$example/matmul.workload" --with "$example/tiled.schedule" --ir >tiled.ir
cc -O2 -Wall -Wextra "$example/time_kernels.c" -I "$tunefarm_include" -o time_kernels -ldl -lm
./time_kernels ./plain.so ./tiled.so
