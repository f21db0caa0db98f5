#pragma once
// Owns: the pass that recognises dot products of narrow elements.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A serial or unrolled loop over 2 or 4 terms around a vectorized loop, which sums products of narrow
// elements in a wide one, becomes one dot of vectors (tensor/expr.h, kDot), if the terms of a lane lie next
// to each other in memory, those of the lanes one after the other for one factor, and the other factor has
// the same terms in all lanes. Buffers must be flat. Schedules make such loops by splitting a reduction by
// the group and blocking a constant's layout by it. A factor of bytes may be moved to the other sign
// (schedule/steps/sums/offset.h): it is then one of the dot's, computed in bytes.
//
//   for r in 4
//     for j in 16 vectorized
//       c[j] = c[j] + i32(a[k*4 + r])         →   c[ramp(0, 1, 16)] =
//                     * i32(b[k*64 + j*4 + r])        dot(c[ramp(0, 1, 16)], a[ramp(k*4, 1, 4)],
//                                                         b[ramp(k*64, 1, 64)])
ir::Function form_dots(const ir::Function& function);

}  // namespace tf::passes
