#pragma once
// Owns: the pass that loads vectors whose lanes lie in a few runs run by run.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A vector load whose lanes are not neighbours, but stand in up to kMaxRuns runs of neighbours at constant
// distances from each other, becomes a masked load for each run: windows over channels that lie in blocks,
// channels shifted by padding or a slice. Buffers must be flat.
//
//   x[b*64 + (ramp(-2, 1, 8) // 8)*32 + ramp(-2, 1, 8) % 8]
//     →  select(ramp(0, 1, 8) < 2, (x[ramp(b*64 - 26, 1, 8)] if ramp(0, 1, 8) < 2),
//                                  (x[ramp(b*64 - 2, 1, 8)] if 2 <= ramp(0, 1, 8)))
inline constexpr int kMaxRuns = 3;
ir::Function split_loads(const ir::Function& function);

}  // namespace tf::passes
