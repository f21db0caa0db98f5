#pragma once
// Owns: the table of GPU kinds: a driver and the blobs that it loads. Does not know: trials.

#include <cstdint>

#include "compiler/runtime/gpu/gpu.h"

namespace tf::worker::gpu_worker {

struct DeviceKind {
  const gpu::Driver& (*driver)();
  int32_t blob_kinds[2];    // kernel.v1.BlobKind; 0: none
  const char* peak_source;  // for measure_peak

  bool loads(int32_t blob_kind) const { return blob_kind == blob_kinds[0] || blob_kind == blob_kinds[1]; }
};

struct DeviceName {
  const DeviceKind* kind = nullptr;
  int index = 0;
};

// Parses a name such as "opencl:0" (Job.device). The kind is null if the name is not that of a GPU.
DeviceName find_device(const char* name);

}  // namespace tf::worker::gpu_worker
