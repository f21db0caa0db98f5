#pragma once
// Owns: memory that is read in place of the other constants of a candidate's network. Reading it between runs
// evicts the candidate's constants from the caches as far as the network does. Does not know: jobs.

#include <cstdint>

#include "compiler/runtime/large_pages.h"

namespace tf::worker::sandbox {

// Filled once in the zygote and inherited by every child, so a trial does not spend time on filling it.
// Read-only, so no child can change what another one reads.
class FlushBuffer {
 public:
  // Grows to at least that many bytes, and moves if it has to. Empty afterwards if there is not enough
  // memory.
  void grow(uint64_t size_bytes);
  uint8_t* data() const { return memory_.data; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  tf_mapping memory_ = {};
  uint64_t size_bytes_ = 0;
};

}  // namespace tf::worker::sandbox
