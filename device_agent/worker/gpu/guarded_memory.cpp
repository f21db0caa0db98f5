#include "device_agent/worker/gpu/guarded_memory.h"

#include <algorithm>
#include <initializer_list>

namespace tf::worker::gpu_worker {
namespace {

constexpr uint8_t kCanary = 0xc5;
constexpr uint64_t kLeastGuardBytes = 256;
constexpr uint64_t kMostGuardBytes = 4096;

}  // namespace

bool GuardedMemory::allocate(const gpu::Driver& driver, gpu::Device* device, uint64_t size_bytes,
                             uint64_t alignment_bytes, char* error) {
  driver_ = &driver;
  size_bytes_ = size_bytes;
  guard_bytes_ = std::clamp(alignment_bytes, kLeastGuardBytes, kMostGuardBytes);
  memory_ = driver.allocate(device, size_bytes + 2 * guard_bytes_, error);
  return memory_ != nullptr && driver.fill(memory_, 0, kCanary, guard_bytes_, error) &&
         driver.fill(memory_, guard_bytes_ + size_bytes_, kCanary, guard_bytes_, error);
}

void GuardedMemory::free() {
  if (memory_ != nullptr) driver_->free(memory_);
  memory_ = nullptr;
}

bool GuardedMemory::upload(const void* from, char* error) {
  return driver_->upload(memory_, guard_bytes_, from, size_bytes_, error);
}

bool GuardedMemory::download(void* to, char* error) const {
  return driver_->download(to, memory_, guard_bytes_, size_bytes_, error);
}

bool GuardedMemory::fill(uint8_t value, char* error) {
  return driver_->fill(memory_, guard_bytes_, value, size_bytes_, error);
}

bool GuardedMemory::check_guards(bool* intact, char* error) const {
  *intact = true;
  uint8_t bytes[kMostGuardBytes];
  for (const uint64_t offset : {uint64_t{0}, guard_bytes_ + size_bytes_}) {
    if (!driver_->download(bytes, memory_, offset, guard_bytes_, error)) return false;
    *intact =
        *intact && std::all_of(bytes, bytes + guard_bytes_, [](uint8_t byte) { return byte == kCanary; });
  }
  return true;
}

}  // namespace tf::worker::gpu_worker
