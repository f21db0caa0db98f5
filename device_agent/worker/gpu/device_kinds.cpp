#include "device_agent/worker/gpu/device_kinds.h"

#include <cstdlib>
#include <cstring>

#include "device_agent/worker/gpu/peak.h"

namespace tf::worker::gpu_worker {
namespace {

constexpr int32_t kOpenClC = 4;  // kernel.v1.BLOB_KIND_OPENCL_C

struct Kind {
  const gpu::Driver& (*driver)();
  int32_t blob_kind;
  const char* peak_source;
};
constexpr Kind kKinds[] = {{gpu::opencl_driver, kOpenClC, kOpenClPeak}};

}  // namespace

DeviceName find_device(const char* name) {
  for (const Kind& kind : kKinds) {
    const gpu::Driver& driver = kind.driver();
    const size_t length = std::strlen(driver.name);
    if (std::strncmp(name, driver.name, length) != 0 || name[length] != ':') continue;
    char* end = nullptr;
    const long index = std::strtol(name + length + 1, &end, 10);
    if (end == name + length + 1 || *end != 0 || index < 0 || index > 1000) return {};
    return {&driver, kind.blob_kind, static_cast<int>(index), kind.peak_source};
  }
  return {};
}

}  // namespace tf::worker::gpu_worker
