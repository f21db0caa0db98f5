#pragma once
// Owns: the pass that turns vectorized loops into vector operations.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// The loop variable becomes a ramp; conditions that differ between lanes become predicates of the stores.
// Loads need none: guard_memory made them safe. A folded loop, whose one store adds to (or takes the greater
// or lesser of) an element that does not move with the variable, folds its lanes. A loop that cannot be a
// vector (its extent is not constant, a store moves or does not as it should, it holds another loop) becomes
// serial.
//
//   for i in 16 vectorized                b[ramp(o*16, 1, 16)] =
//     if o*16 + i < n                →      broadcast(2, 16) * a[ramp(o*16, 1, 16)]
//       b[o*16 + i] = 2 * a[o*16 + i]       if ramp(o*16, 1, 16) < broadcast(n, 16)
//
//   for i in 16 folded
//     s[0] = s[0] + a[i]             →    s[0] = s[0] + reduce_add(a[ramp(0, 1, 16)])
ir::Function vectorize(const ir::Function& function);

}  // namespace tf::passes
