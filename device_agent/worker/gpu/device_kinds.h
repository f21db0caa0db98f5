#pragma once
// Owns: the table of kinds of GPU: a driver, and the blobs that it loads. Does not know: trials.

#include <cstdint>

#include "compiler/runtime/gpu/gpu.h"

namespace tf::worker::gpu_worker {

struct DeviceName {
  const gpu::Driver* driver = nullptr;
  int32_t blob_kind = 0;  // kernel.v1.BlobKind
  int index = 0;
  const char* peak_source = nullptr;  // for measure_peak
};

// "opencl:0", as Job.device names it; a null driver: no such kind, or no number.
DeviceName find_device(const char* name);

}  // namespace tf::worker::gpu_worker
