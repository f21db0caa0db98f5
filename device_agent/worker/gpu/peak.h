#pragma once
// Owns: measuring the peak rate of fp32 multiply-adds of the whole device. Does not know: candidates.

#include "device_agent/worker/gpu/gpu_trial.h"

namespace tf::worker::gpu_worker {

// In GFLOP/s; 0 on failure, with the reason in `error`. `source` is a program for this kind of device with
// the kernel `peak` below.
double measure_peak(const OpenDevice& open, const char* source, char* error);

// A kernel `peak` in OpenCL C. Its parameter is a pointer to one float per thread. Each thread executes
// kPeakFlops operations.
extern const char kOpenClPeak[];
// The same as PTX, compiled from peak.cu.
extern const char kPeakPtx[];
constexpr double kPeakFlops = 2.0 * 8 * 8 * 512;

}  // namespace tf::worker::gpu_worker
