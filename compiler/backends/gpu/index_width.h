#pragma once
// Owns: whether 32 bits hold every index of a function. Does not know: C.

#include "compiler/ir/stmt.h"

namespace tf::backends {

// Whether each index expression, with all its parts, stays within an int, for all sizes of the function's dimensions.
// What is computed of data keeps 64 bits.
bool fits_narrow_indices(const ir::Function& function);

}  // namespace tf::backends
