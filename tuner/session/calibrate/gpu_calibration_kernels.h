#pragma once
// Owns: the calibration kernels of GPUs: a product in registers, streams from memory and L2. Does not know: CPUs, devices,
// records.

#include <vector>

#include "compiler/target/target.h"
#include "tuner/session/calibrate/calibration_kernels.h"

namespace tf::session {

// The peak by y[i,j] = Σ_t Σ_k a[k,i] b[k,j], 64 sums in registers of each of 65,536 threads; what memory gives by
// y[i] = Σ_t Σ_k x[k,i], four times the L2 that is usual for the target, 32 to 256 MiB; what L2 gives by the same over a
// quarter of it, if it is known to be larger than all first caches.
std::vector<CalibrationKernel> gpu_calibration_kernels_of(const target::Target& target);

// The workloads of all of them.
std::vector<tensor::Workload> gpu_calibration_workloads();

}  // namespace tf::session
