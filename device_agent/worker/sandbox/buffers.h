#pragma once
// Owns: the memory that a candidate works on: one guarded set of buffers for the checked run, and the
// rotating sets of the timed runs. Does not know: what is in them.

#include <cstdint>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// A buffer that ends at an inaccessible page (up to TF_ALIGNMENT - 1 bytes of canary before it), with
// canaries also before its start.
class GuardedBuffer {
 public:
  // False if there is no memory.
  bool allocate(uint64_t size_bytes);
  uint8_t* data() const { return data_; }
  // True if nothing was written to the accessible bytes around the buffer.
  bool intact() const;

 private:
  uint8_t* begin_ = nullptr;  // of the accessible pages
  uint8_t* end_ = nullptr;
  uint8_t* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// Copies of all buffers, back to back in one mapping of large pages where the system has them.
class RotatingSets {
 public:
  // As many sets as reach job.rotate_bytes together, at least 2 for rotation, fewer if they take more than
  // half of the memory limit; 1 without rotation. False if not even one fits.
  bool allocate(const Job& job);
  uint32_t count() const { return count_; }
  uint8_t* data(uint32_t set, uint32_t port) const { return base_ + set * stride_bytes_ + offsets_[port]; }

 private:
  uint8_t* base_ = nullptr;
  uint64_t stride_bytes_ = 0;
  uint64_t offsets_[kMaxPorts] = {};
  uint32_t count_ = 0;
};

// Zeroed, page-aligned; null if there is no memory.
uint8_t* map_memory(uint64_t bytes);
void unmap_memory(uint8_t* memory, uint64_t bytes);

}  // namespace tf::worker::sandbox
