#pragma once
// Owns: which loads of an expression can be made before it, all lanes at once, and when. Does not know: memory, types.

#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::backends {

struct WideLoad {
  ir::Expr load;
  ir::Expr
      condition;  // the same for all lanes: where it does not hold, the load is of no use, or gives zeros; null: always
};

// Of the loads of a vector, those without a condition that differs between lanes. Loads are safe wherever they are made
// (guard_memory), so that what lanes choose between is loaded for all of them.
std::vector<WideLoad> wide_loads(const ir::Expr& value);

}  // namespace tf::backends
