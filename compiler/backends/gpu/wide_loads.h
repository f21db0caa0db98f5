#pragma once
// Owns: which loads of a vector expression can be made before it, for all lanes together, and under which
// condition. Does not know: memory, types.

#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::backends {

struct WideLoad {
  ir::Expr load;
  ir::Expr
      condition;  // the same for all lanes. If it is false, the load is not needed, or gives zeros. Null: always true
};

// The loads of the vector expression, except those whose condition differs between lanes. Every load is safe
// wherever it is made (guard_memory), so both operands of a lane's choice are loaded for all lanes.
std::vector<WideLoad> wide_loads(const ir::Expr& value);

}  // namespace tf::backends
