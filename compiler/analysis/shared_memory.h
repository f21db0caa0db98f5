#pragma once
// Owns: where the shared memory of a block's buffers lies: what is not alive at the same time may share bytes. Does not know: devices,
// text.

#include <cstdint>
#include <map>

#include "compiler/ir/stmt.h"

namespace tf::analysis {

inline constexpr int64_t kSharedAlignment = 16;
// Of a buffer: more where a swizzle is of the bits of its place.
int64_t shared_alignment(const ir::BufferNode& buffer);

struct SharedMemory {
  std::map<const ir::BufferNode*, int64_t> offsets;  // in bytes, multiples of the buffers' alignment
  int64_t bytes = 0;                                 // of all of them
  int64_t alignment = kSharedAlignment;              // that all have to start at
};

// Of one kernel, whose shared buffers have constant extents. A buffer is alive from its first access to its last, of a loop around
// which it lives longer, in all of the loop's iterations; an asynchronous copy's target and what a multiplication reads by itself until a wait. Two buffers share bytes if
// they are never alive together and all threads meet at a barrier in between, also from one iteration of a loop around both
// to the next.
//
//   allocate a[64] shared; allocate b[64] shared; allocate c[64] shared
//   a[t] = …; barrier; b[t] = a[…]; barrier; c[t] = b[…]; barrier; … = c[…]     →     a at 0, b at 256, c at 0
SharedMemory plan_shared_memory(const ir::Stmt& kernel);

}  // namespace tf::analysis
