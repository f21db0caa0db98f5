#include "device_agent/worker/sandbox/device_backends.h"

#include <cstring>

#include "device_agent/worker/sandbox/cpu/cpu_backend.h"

namespace tf::worker::sandbox {
namespace {

constexpr DeviceKind kDevices[] = {
    kCpuDevice,
};

}  // namespace

const DeviceKind* find_device(const char* name) {
  for (const DeviceKind& kind : kDevices)
    if (std::strcmp(kind.name, name) == 0) return &kind;
  return nullptr;
}

}  // namespace tf::worker::sandbox
