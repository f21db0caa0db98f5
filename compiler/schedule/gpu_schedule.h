#pragma once
// Owns: schedules for GPUs: a product tiled over blocks, threads and registers, its operands staged in shared
// memory; everything else a thread an element. Does not know: CUDA, OpenCL.

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// Of one product y[…, m, n] = Σ over k of a · b. A block computes threads_m * rows by threads_n * columns
// elements with threads_m * threads_n threads, `reduce` steps of k from one filling of shared memory to the
// next.
struct GpuTile {
  int64_t threads_m = 16, threads_n = 16;
  int64_t rows = 4, columns = 4;  // of one thread, in registers
  int64_t reduce = 16;
};

// The workload must be bound. Legal for every workload; one launch for all but those with several outputs or
// with a result without axes, and a thread an element for all but products (one reduction over one axis, two
// output axes or more, element-wise stages around it).
Schedule gpu_schedule(const tensor::Workload& workload, const GpuTile& tile = {});

}  // namespace tf::schedule
