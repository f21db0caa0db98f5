#include "compiler/passes/loops/lane_folds.h"

#include <utility>

namespace tf::passes {

using ir::Expr;
using ir::Stmt;

Stmt folded_over_lanes(const schedule::StageState& stage, const Expr& value, const ir::Buffer& target,
                       std::vector<Expr> indices, const Expr& stores) {
  const std::vector<Expr> first = {tensor::imm(0)};
  const ir::Buffer term =
      tensor::buffer(stage.name + ".lane", target->element, {tensor::imm(1)}, ir::Scope::kRegister);
  Stmt store = ir::store(target, std::move(indices), tensor::load(term, first));
  for (const Expr& guard : stage.guards) store = ir::make_stmt<ir::If>(guard, store);
  if (target->scope == ir::Scope::kShared)
    store = ir::make_stmt<ir::If>(stage.loop_vars.back() < tensor::imm(1), store);
  if (stores) store = ir::make_stmt<ir::If>(stores, store);
  const int64_t lanes = stage.loops.back().extent;
  return ir::make_stmt<ir::Allocate>(
      term, ir::seq({ir::store(term, first, value),
                     ir::make_stmt<ir::LaneFold>(term, first, *stage.stage.combiner, static_cast<int>(lanes)),
                     store}));
}

}  // namespace tf::passes
