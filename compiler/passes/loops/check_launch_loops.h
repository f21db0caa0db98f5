#pragma once
// Owns: whether loops over blocks and threads are nested as a GPU has them. Does not know: schedules.

#include "absl/status/status.h"
#include "compiler/ir/stmt.h"

namespace tf::passes {

// FAILED_PRECONDITION in four cases: a loop over an axis of the grid or of a block is inside another of that axis; a loop over
// the grid is inside a loop of another kind; in a launch, a store that others may see is outside of some of its loops, so that
// all the blocks and threads would repeat it; so is an array of scope global, which would be each thread's own (compiler/ir/stmt.h).
absl::Status check_launch_loops(const ir::Function& function);

}  // namespace tf::passes
