#pragma once
// Owns: the row of this machine's CPUs: shared ELF objects, called as compiler/runtime/kernel_abi.h says.

#include "device_agent/worker/sandbox/device_backend.h"

namespace tf::worker::sandbox {

DeviceBackend* make_cpu_backend();

inline constexpr DeviceKind kCpuDevice = {"cpu", 1 /* BLOB_KIND_ELF_SHARED */, make_cpu_backend};

}  // namespace tf::worker::sandbox
