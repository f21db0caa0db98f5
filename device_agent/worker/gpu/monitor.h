#pragma once
// Owns: what NVIDIA's management library says of a device's state, where there is one: clock, heat, throttling. Does not know:
// trials.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

class Monitor {
 public:
  // Of the device on that PCI bus; empty, or without a libnvidia-ml.so.1 (Jetson boards have none): it tells nothing.
  explicit Monitor(const char* bus_id);
  // The fields that change; 0 where nothing is told.
  void read(sandbox::GpuResult* state) const;

 private:
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
  int (*throttle_reasons_)(void*, unsigned long long*) = nullptr;
};

}  // namespace tf::worker::gpu_worker
