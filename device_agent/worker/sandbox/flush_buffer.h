#pragma once
// Owns: memory that is read in place of the other constants of a candidate's network: what was read since the
// kernel last ran, so that its constants come from where they do in the network. Does not know: jobs.

#include <cstdint>

#include "compiler/runtime/large_pages.h"

namespace tf::worker::sandbox {

// Made once in the zygote and inherited by every child, so that a trial does not pay for filling it;
// read-only, so that no child changes what another one reads.
class FlushBuffer {
 public:
  // At least so many bytes from now on, elsewhere if they are more than before; none if there is no memory.
  void grow(uint64_t size_bytes);
  uint8_t* data() const { return memory_.data; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  tf_mapping memory_ = {};
  uint64_t size_bytes_ = 0;
};

}  // namespace tf::worker::sandbox
