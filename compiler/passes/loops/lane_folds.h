#pragma once
// Owns: the statements of a stage whose reduction runs over the lanes of a warp.

#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

// Each lane puts `value`, its term, into a register; after the fold all have the result, which each stores, into memory of a block
// the first. The stage's guards are of stores, and so is `stores`, if it is not null: all lanes take part.
ir::Stmt folded_over_lanes(const schedule::StageState& stage, const ir::Expr& value, const ir::Buffer& target,
                           std::vector<ir::Expr> indices, const ir::Expr& stores);

}  // namespace tf::passes
