#pragma once
// Owns: reading a device's clock, temperature and throttling from NVIDIA's management library, if it is
// installed. Does not know: trials.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

class Monitor {
 public:
  // Monitors the device with that PCI bus id. Reads nothing if the id is empty, or if there is no
  // libnvidia-ml.so.1 (as on Jetson boards).
  explicit Monitor(const char* bus_id);
  // Sets the fields that change; unknown values are 0.
  void read(sandbox::GpuResult* state) const;

 private:
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
  int (*throttle_reasons_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tf::worker::gpu_worker
