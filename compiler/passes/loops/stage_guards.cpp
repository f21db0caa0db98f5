#include "compiler/passes/loops/stage_guards.h"

#include <algorithm>
#include <utility>

#include "compiler/analysis/access.h"

namespace tf::passes {

using ir::Expr;
using ir::Stmt;
using schedule::Annotation;
using schedule::Loop;
using schedule::StageState;

namespace {

// Whether what the guard bounds grows with each of the loops inside of `loop`: all sums do, but for the remainders of loops
// that were fused.
bool grows_inside(const StageState& stage, const Expr& guard, int loop) {
  bool grows = true;
  tensor::for_each(guard, [&](const Expr& e) {
    const auto* operation = ir::as<ir::Binary>(e);
    if (operation && operation->op == ir::BinaryOp::kFloorMod)
      for (size_t i = static_cast<size_t>(loop) + 1; i < stage.loop_vars.size(); ++i)
        grows = grows && !analysis::uses(e, stage.loop_vars[i].get());
    return grows;
  });
  return grows;
}

// Whether any iteration of the loops inside of `loop` counts, of a guard that grows there.
Expr at_first_iterations(const StageState& stage, const Expr& guard, int loop) {
  tensor::Substitution first;
  for (size_t i = static_cast<size_t>(loop) + 1; i < stage.loop_vars.size(); ++i)
    first[stage.loop_vars[i].get()] = tensor::imm(0);
  return tensor::substitute(guard, first);
}

}  // namespace

int deepest_loop(const StageState& stage, const Expr& expr) {
  int deepest = 0;
  for (size_t i = 0; i < stage.loop_vars.size(); ++i)
    if (analysis::uses(expr, stage.loop_vars[i].get())) deepest = static_cast<int>(i);
  return deepest;
}

std::vector<Expr> StageGuards::of(const StageState& stage) const {
  const bool reaches_over = stage.place == StageState::Place::kAt && shapes_.vectorized_axis(stage) >= 0;
  std::vector<Expr> guards;
  if (stage.tensor || folds_lanes(stage)) return guards;  // terms beyond the last are zeros; of stores
  for (const Expr& guard : stage.guards)
    if (!reaches_over || !is_of_last_lanes(stage, guard)) guards.push_back(guard);
  for (size_t n = 0; n < stage.loops.size(); ++n)
    if (const Loop* threads = threads_of(stage, n);
        threads && !tensor::same(threads->extent, stage.loops[n].extent))
      guards.push_back(stage.loop_vars[n] < stage.loops[n].extent.expr());
  return guards;
}

// Whether the guard only keeps lanes of a vector from what lies behind the region, not from what another thread computes.
bool StageGuards::is_of_last_lanes(const StageState& stage, const Expr& guard) const {
  if (!analysis::uses(guard, stage.loop_vars.back().get())) return false;
  const Expr& along = stage.axis_values[static_cast<size_t>(shapes_.vectorized_axis(stage))];
  for (size_t n = 0; n < stage.loops.size(); ++n)
    if (const tensor::VarNode* var = stage.loop_vars[n].get();
        schedule::is_thread(stage.loops[n].annotation) && analysis::uses(along, var) &&
        !analysis::uses(guard, var))
      return false;
  return true;
}

const Loop* StageGuards::threads_of(const StageState& stage, size_t n) const {
  if (!schedule::is_thread(stage.loops[n].annotation)) return nullptr;
  const Loop* threads = nullptr;
  const StageState* at = &stage;
  while (const auto around = data_.thread_around(*at, stage.loops[n].annotation)) {
    threads = &around->stage->loops[static_cast<size_t>(around->loop)];
    at = around->stage;
  }
  return threads;
}

Expr StageGuards::first_threads(const StageState& stage) const {
  Expr first;
  if (stage.place != StageState::Place::kAt || stage.scope != ir::Scope::kShared) return first;
  for (const Annotation axis : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ}) {
    const auto around = data_.thread_around(stage, axis);
    if (!around || std::ranges::count(stage.loops, axis, &Loop::annotation) != 0) continue;
    const Expr is_first = around->stage->loop_vars[static_cast<size_t>(around->loop)] < tensor::imm(1);
    first = first ? tensor::logical_and(first, is_first) : is_first;
  }
  return first;
}

bool StageGuards::meets_threads(const StageState& stage) const {
  return std::ranges::any_of(data_.stages, [&](const StageState& other) {
    return (other.scope == ir::Scope::kShared || folds_lanes(other)) &&
           other.place == StageState::Place::kAt && data_.is_inside(other, stage, 0);
  });
}

bool StageGuards::parts_threads(const StageState& stage, const Expr& guard) const {
  const bool meets = meets_threads(stage);
  for (size_t i = 0; meets && i < stage.loops.size(); ++i)
    if (schedule::is_thread(stage.loops[i].annotation) && analysis::uses(guard, stage.loop_vars[i].get()))
      return true;
  return false;
}

// Where other stages are computed outside of the guard: the innermost loop around them that the guard moves
// with, so that they are not computed for iterations of which none counts; -1 if there is none.
int StageGuards::held_guard_loop(const StageState& stage, const Expr& guard) const {
  const int held = data_.deepest_held_loop(stage);
  if (held >= deepest_loop(stage, guard)) return -1;
  for (int i = held; i >= 0; --i)
    if (analysis::uses(guard, stage.loop_vars[static_cast<size_t>(i)].get()))
      return grows_inside(stage, guard, i) ? i : -1;
  return -1;
}

Stmt StageGuards::within_guards_at(const StageState& stage, int n, Stmt body) const {
  for (const Expr& guard : of(stage)) {
    if (parts_threads(stage, guard)) continue;
    if (deepest_loop(stage, guard) == n)
      body = ir::make_stmt<ir::If>(guard, body);
    else if (held_guard_loop(stage, guard) == n)
      body = ir::make_stmt<ir::If>(at_first_iterations(stage, guard, n), body);
  }
  return body;
}

Stmt StageGuards::within_parting_guards(const StageState& stage, const Expr& first, bool around_lanes,
                                        Stmt body) const {
  const bool has_lanes =
      !stage.loops.empty() && !stage.tensor && stage.loops.back().annotation == Annotation::kVectorize;
  const auto stands_here = [&](const Expr& guard) {
    return (has_lanes && !analysis::uses(guard, stage.loop_vars.back().get())) == around_lanes;
  };
  for (const Expr& guard : of(stage))
    if (parts_threads(stage, guard) && stands_here(guard)) body = ir::make_stmt<ir::If>(guard, body);
  if (first && meets_threads(stage) && stands_here(first)) body = ir::make_stmt<ir::If>(first, body);
  return body;
}

}  // namespace tf::passes
