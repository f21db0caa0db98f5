#include "device_agent/worker/gpu/device_kinds.h"

#include "device_agent/worker/gpu/device_name.h"
#include "device_agent/worker/gpu/peak.h"

namespace tf::worker::gpu_worker {
namespace {

constexpr int32_t kCubin = 3, kOpenClC = 4, kPtx = 5;  // kernel.v1.BlobKind

constexpr DeviceKind kKinds[] = {{gpu::cuda_driver, {kCubin, kPtx}, kPeakPtx},
                                 {gpu::opencl_driver, {kOpenClC, kOpenClC}, kOpenClPeak}};

}  // namespace

DeviceName find_device(const char* text) {
  const std::optional<GpuName> name = parse_gpu_name(text);
  if (!name) return {};
  for (const DeviceKind& kind : kKinds)
    if (name->kind == kind.driver().name) return {&kind, name->index};
  return {};
}

}  // namespace tf::worker::gpu_worker
