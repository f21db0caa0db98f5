#pragma once
// Owns: whether every index of a function fits in 32 bits. Does not know: C.

#include "compiler/ir/stmt.h"

namespace tf::backends {

// Whether each index expression, with all its subexpressions, fits in an int for all sizes of the function's
// dimensions. Expressions on data keep 64 bits.
bool fits_narrow_indices(const ir::Function& function);

}  // namespace tf::backends
