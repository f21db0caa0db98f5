#pragma once
// Owns: what legal loop IR is, in layers: what always holds, and what holds from a certain pass on. Does not
// know: which pass made what, targets.

#include "absl/status/status.h"
#include "compiler/ir/stmt.h"

namespace tf::ir {

// What a function promises beyond being well-formed; back ends ask for all that they rely on.
struct Promises {
  bool flat = false;              // buffers have rank 1 and no layout: one physical element offset an access
  bool explicit_vectors = false;  // no vectorized, folded or unrolled loop is left
  bool constant_registers =
      false;             // register buffers have constant extents and are accessed at constant indices
  bool for_cpu = false;  // no grid, thread or shared memory, no barrier, no async copy
};

// Always: types agree (operands, conditions, indices are i64, values are of the buffer's element, lanes of an
// access are one count or 1); variables and buffers are defined before use and not again inside their own
// scope; an access has one index a dimension, or one physical offset; parallel loops, thread loops and grid
// loops nest from the outside as grid, thread; async copies go from global to shared memory; the function's
// name is an identifier. INVALID_ARGUMENT says what is wrong and where (the statement, printed).
absl::Status verify(const Function& function, const Promises& promises = {});

}  // namespace tf::ir
