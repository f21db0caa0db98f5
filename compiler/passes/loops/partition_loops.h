#pragma once
// Owns: the pass that peels the iterations in which conditions matter off the others.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Where the conditions inside a serial or parallel loop (of branches, selects, predicates) are known to hold
// for a range of its iterations, that range becomes a loop of its own, in which they are gone; a parallel
// loop stays one and branches inside.
//
//   for i.0 in 3                            for i.0 in 2
//     for i.1 in 4                            for i.1 in 4
//       if i.0*4 + i.1 < 10        →            b[i.0*4 + i.1] = 1
//         b[i.0*4 + i.1] = 1                for i.1 in 2
//                                             b[8 + i.1] = 1
//
// Where the variable stands inside of a quotient, as after fuse, the loop branches in the same way on a
// condition of its own that suffices for those inside (i // 13 < 31 for (i // 13)*32 + j < 1000, j < 32).
//
// Only bodies of up to kMaxPeeledNodes nodes are copied. What was peeled off twice (the last columns of the
// last block of rows: their last row is still to come) is partitioned once more if it is much smaller, as a
// register tile is; code beyond that is left as it is.
inline constexpr int64_t kMaxPeeledNodes = 6000, kMaxPeeledTwiceNodes = 600;
ir::Function partition_loops(const ir::Function& function);

}  // namespace tf::passes
