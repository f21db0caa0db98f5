#pragma once
// Owns: copying statements so that every variable still has one place where it is bound.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// The statement with variables of its own for its loops and lets; free variables and buffers stay.
ir::Stmt with_fresh_variables(const ir::Stmt& stmt);

}  // namespace tf::passes
