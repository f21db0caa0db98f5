#pragma once
// Owns: the memory that a candidate works on: one guarded set of buffers for the checked run, and the
// rotating sets of the timed runs. Does not know: what is in them.

#include <cstdint>

#include "device_agent/worker/sandbox/flush_buffer.h"
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

// The buffers of the timed runs, which rotate through several sets. The sets are copies of all ports, with a
// total size of job.rotate_bytes, in one mapping of large pages if the system has them. With a reuse
// distance, large constants exist only once, in set 0, and only set 0 gives answers. The other sets read
// flush buffers instead. There are enough of these that none is read again before the reuse distance is
// reached.
class RotatingSets {
 public:
  // At least 2 copies for rotation, fewer if they take more than half of the memory limit; 1 without
  // rotation. False if not even one fits. The flush buffer has all of the reuse distance.
  bool allocate(const Job& job, const FlushBuffer& flush_buffer);
  uint32_t count() const { return count_; }
  uint8_t* data(uint32_t set, uint32_t port) const;
  // Whether data(set, port) belongs to this set, which must fill it. Otherwise it belongs to another set, or
  // is a flush buffer.
  bool owns(uint32_t set, uint32_t port) const { return set < (is_flushed_[port] ? 1 : copies_); }

 private:
  void lay_out(const Job& job);

  uint8_t* base_ = nullptr;
  const FlushBuffer* others_ = nullptr;
  uint64_t offsets_[kMaxPorts] = {};  // within a copy, or within a set's constants
  bool is_flushed_[kMaxPorts] = {};   // constants that are read from the flush buffer
  uint64_t copy_bytes_ = 0, constant_bytes_ = 0;
  uint32_t copies_ = 1, constants_ = 1;  // how many there are to rotate through
  uint32_t count_ = 0;
};

// Zeroed, page-aligned; null if there is no memory.
uint8_t* map_memory(uint64_t bytes);
void unmap_memory(uint8_t* memory, uint64_t bytes);

}  // namespace tf::worker::sandbox
