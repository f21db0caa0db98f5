#pragma once
// Owns: the device's time of what is put into its default stream. Does not know: what that is.

#include "compiler/runtime/gpu/cuda_api.h"
#include "compiler/runtime/gpu/gpu.h"

namespace tf::gpu_test {

// Once a device has been opened.
inline const gpu::CuApi& cu_api() {
  const char* why = nullptr;
  return *gpu::open_cuda(&why);
}

// What is asked of it from now on is asked of the device's context: the driver table leaves the caller's current.
inline void make_current(gpu::Device* device) {
  int index = 0;
  void *context = nullptr, *queue = nullptr;
  gpu::cuda_driver().handles(device, &index, &context, &queue);
  cu_api().push_context(context);
}

class EventTimer {
 public:
  EventTimer() {
    cu_api().create_event(&began_, 0);
    cu_api().create_event(&ended_, 0);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer() {
    cu_api().destroy_event(began_);
    cu_api().destroy_event(ended_);
  }
  void begin() { cu_api().record_event(began_, nullptr); }
  // 0: it failed.
  double end_ns() {
    float ms = 0;
    const bool done = cu_api().record_event(ended_, nullptr) == gpu::kCuSuccess &&
                      cu_api().wait_event(ended_) == gpu::kCuSuccess &&
                      cu_api().elapsed(&ms, began_, ended_) == gpu::kCuSuccess;
    return done ? static_cast<double>(ms) * 1e6 : 0;
  }

 private:
  gpu::CuHandle began_ = nullptr, ended_ = nullptr;
};

}  // namespace tf::gpu_test
