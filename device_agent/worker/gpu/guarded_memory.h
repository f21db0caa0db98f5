#pragma once
// Owns: a device buffer between two guards, whose bytes must not change. Does not know: the buffer's
// contents.

#include <cstdint>

#include "compiler/runtime/gpu/gpu.h"

namespace tf::worker::gpu_worker {

// Calls that can fail return false and write a line into `error` (gpu::kErrorChars).
class GuardedMemory {
 public:
  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { free(); }

  bool allocate(const gpu::Driver& driver, gpu::Device* device, uint64_t size_bytes, uint64_t alignment_bytes,
                char* error);
  void free();
  gpu::Argument argument() const { return {memory_, guard_bytes_, size_bytes_}; }
  bool upload(const void* from, char* error);
  bool download(void* to, char* error) const;
  // Sets every byte of the buffer, but not the guards.
  bool fill(uint8_t value, char* error);
  // Sets `intact` to whether the guards are unchanged.
  bool check_guards(bool* intact, char* error) const;

 private:
  const gpu::Driver* driver_ = nullptr;
  gpu::Memory* memory_ = nullptr;
  uint64_t guard_bytes_ = 0, size_bytes_ = 0;
};

}  // namespace tf::worker::gpu_worker
