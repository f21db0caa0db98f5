#pragma once
// Owns: the fastest rate of fp32 multiply-adds that the whole device shows. Does not know: candidates.

#include "device_agent/worker/gpu/gpu_trial.h"

namespace tf::worker::gpu_worker {

// In GFLOP/s; 0: `error` says why not. `source` is a program of the device's own kind, with the kernel `peak` below.
double measure_peak(const OpenDevice& open, const char* source, char* error);

// A kernel `peak` in OpenCL C: of one pointer to floats, one for each thread; each thread makes kPeakFlops operations.
extern const char kOpenClPeak[];
// The same as PTX, of peak.cu.
extern const char kPeakPtx[];
constexpr double kPeakFlops = 2.0 * 8 * 8 * 512;

}  // namespace tf::worker::gpu_worker
