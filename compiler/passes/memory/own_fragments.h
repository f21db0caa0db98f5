#pragma once
// Owns: whether the lanes of a warp touch only what they hold of fragments. Does not know: schedules.

#include "absl/status/status.h"
#include "compiler/ir/stmt.h"

namespace tf::passes {

// OK if each buffer of scope fragment holds tiles of one matrix, whole ones, that matrix statements fill, what they load
// lies in a layout without blocks, and other statements load elements of sums only, each lane what it provably holds.
// FAILED_PRECONDITION says what is not so.
absl::Status check_fragments(const ir::Function& function);

}  // namespace tf::passes
