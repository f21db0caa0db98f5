#pragma once
// Owns: the pass that makes every load safe by itself, wherever later passes move it. Does not know: layouts
// beyond the extents that storage covers.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A load that is not provably inside of what its buffer's storage covers, for all iterations of the loops
// around it, gets a predicate: the conditions of the selects around it where those suffice, else a test of
// the indices. Enclosing `if`s do not count: the vectorizer turns them into masks of stores.
//
//   for i.0 in 3                            for i.0 in 3
//     for i.1 in 4                            for i.1 in 4
//       if i.0*4 + i.1 < 10                     if i.0*4 + i.1 < 10
//         b[i.0*4 + i.1] =             →          b[i.0*4 + i.1] =
//           a[i.0*4 + i.1]                          a[i.0*4 + i.1] if i.0*4 + i.1 < 10
//
// Inside of vectorized loops a branch around stores becomes their predicate, so that no later pass takes the
// branch as a reason to drop a load's.
//
//   select(0 <= i - 1, a[i - 1], 0)    →    (a[i - 1] if 0 <= i - 1)
//
// A temporary may be read up to kSlackElements beyond its end: flattening makes it that much larger.
inline constexpr int64_t kSlackElements = 256;
ir::Function guard_memory(const ir::Function& function);

}  // namespace tf::passes
