#include "device_agent/worker/gpu/monitor.h"

#include <dlfcn.h>

namespace tf::worker::gpu_worker {
namespace {

// Of nvml.h.
constexpr int kSmClock = 1, kGpuTemperature = 0;
constexpr unsigned long long kHardwareSlowdown = 0x8, kSoftwareThermal = 0x20, kHardwareThermal = 0x40,
                             kPowerBrake = 0x80;

template <typename F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
}

}  // namespace

Monitor::Monitor(const char* bus_id) {
  void* library = bus_id[0] == 0 ? nullptr : dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  int (*init)() = nullptr;
  int (*find_device)(const char*, void**) = nullptr;
  find(library, "nvmlInit_v2", init);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", find_device);
  find(library, "nvmlDeviceGetClockInfo", clock_);
  find(library, "nvmlDeviceGetTemperature", temperature_);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle_reasons_);
  if (init == nullptr || find_device == nullptr || init() != 0) return;
  if (find_device(bus_id, &device_) != 0) device_ = nullptr;
}

void Monitor::read(sandbox::GpuResult* state) const {
  if (device_ == nullptr) return;
  state->has_state = 1;
  unsigned value = 0;
  if (clock_ != nullptr && clock_(device_, kSmClock, &value) == 0) state->clock_mhz = value;
  if (temperature_ != nullptr && temperature_(device_, kGpuTemperature, &value) == 0)
    state->temperature_c = value;
  unsigned long long reasons = 0;
  if (throttle_reasons_ != nullptr && throttle_reasons_(device_, &reasons) == 0)
    state->throttled =
        (reasons & (kHardwareSlowdown | kSoftwareThermal | kHardwareThermal | kPowerBrake)) != 0 ? 1 : 0;
}

}  // namespace tf::worker::gpu_worker
