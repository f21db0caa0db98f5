#pragma once
// Owns: one form for loops that are unrolled whole, whatever split they came from.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Two unrolled loops, one directly in the other, become one where everything below reads them as one: the
// copies that the unroll pass makes are the same. A loop that is too long to be unrolled stays.
//
//   for o in 2 unrolled
//     for i in 3 unrolled          →   for u in 6 unrolled
//       acc[0] += a[o*3 + i]             acc[0] += a[u]
ir::Function merge_unrolled(const ir::Function& function);

}  // namespace tf::passes
