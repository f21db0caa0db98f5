#pragma once
// Owns: the pass that takes loads out of the sides of selects.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Loads in the sides of a select run only where that side is chosen. Here they run before: always where they
// are known to be inside of their buffer, else under the select's condition as predicate. What is left are
// blends, the only selects that back ends for CPUs take. Buffers must be flat.
//
//   t0[i] = select(0 < acc[i], acc[i], acc[i]*0.1)    →    let v = acc[i]
//                                                          t0[i] = select(0 < v, v, v*0.1)
ir::Function hoist_loads(const ir::Function& function);

}  // namespace tf::passes
