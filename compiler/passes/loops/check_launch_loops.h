#pragma once
// Owns: whether loops over blocks and threads are nested as a GPU has them. Does not know: schedules.

#include "absl/status/status.h"
#include "compiler/ir/stmt.h"

namespace tf::passes {

// FAILED_PRECONDITION if a loop over an axis of the grid or of a block is inside another of that axis, or one of the grid is
// inside one over threads; or if, in a launch, a store that others may see is outside of some of its loops: all the blocks
// and threads would repeat it.
absl::Status check_launch_loops(const ir::Function& function);

}  // namespace tf::passes
