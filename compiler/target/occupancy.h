#pragma once
// Owns: how many blocks of a kernel one multiprocessor runs at a time. Does not know: how many multiprocessors there are.

#include <cstdint>

#include "compiler/target/target.h"

namespace tf::target {

struct BlockNeeds {
  int threads = 0;
  int registers_per_thread = 0;  // 0: not known, no limit
  int64_t shared_bytes = 0;
};

// As cuda_occupancy.h counts them; 0: a block fits none, or the limits of a multiprocessor are not known.
int blocks_per_multiprocessor(const GpuLimits& gpu, const BlockNeeds& block);

}  // namespace tf::target
