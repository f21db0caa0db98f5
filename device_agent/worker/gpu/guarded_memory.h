#pragma once
// Owns: a buffer on a device between two guards, whose bytes nobody may change. Does not know: what is in it.

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
  // Every byte of the buffer, not of the guards.
  bool fill(uint8_t value, char* error);
  // Whether the guards are as they were, in `intact`.
  bool check_guards(bool* intact, char* error) const;

 private:
  const gpu::Driver* driver_ = nullptr;
  gpu::Memory* memory_ = nullptr;
  uint64_t guard_bytes_ = 0, size_bytes_ = 0;
};

}  // namespace tf::worker::gpu_worker
