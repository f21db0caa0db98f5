#include <algorithm>

#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::Expr;

// The spatial loops are still one an axis.
bool spatial_untouched(const StageState& stage) {
  size_t spatial = 0;
  for (const Loop& loop : stage.loops) spatial += loop.reduce ? 0 : 1;
  if (spatial != stage.stage.axes.size()) return false;
  for (size_t d = 0; d < spatial; ++d) {
    const auto* var = tensor::as<tensor::VarNode>(stage.axis_values[d]);
    const int loop = var ? stage.find_loop(var->name) : -1;
    if (loop < 0 || !tensor::same(stage.loops[static_cast<size_t>(loop)].extent, stage.region[d]))
      return false;
  }
  return true;
}

// Partial results: axis `loop`, then the stage's axes; reduces over the other reduce loops.
tensor::Stage partial_stage(const StageState& stage, int loop, const std::string& name) {
  tensor::Stage partial;
  tensor::Substitution map;
  auto add = [&](std::vector<tensor::Axis>& axes, size_t i, const std::string& axis) {
    tensor::Var var = tensor::var(axis);
    axes.push_back({var, stage.loops[i].extent.expr()});
    map[stage.loop_vars[i].get()] = var;
  };
  add(partial.axes, static_cast<size_t>(loop), "k");
  for (const tensor::Axis& axis : stage.stage.axes)
    partial.axes.push_back({tensor::var(axis.var->name), axis.extent});
  for (size_t i = 0; i < stage.loops.size(); ++i)
    if (stage.loops[i].reduce && static_cast<int>(i) != loop)
      add(partial.reduce_axes, i, stage.loops[i].name);

  tensor::Substitution axes;
  const size_t spatial = stage.stage.axes.size();
  for (size_t d = 0; d < spatial; ++d) axes[stage.stage.axes[d].var.get()] = partial.axes[d + 1].var;
  for (size_t r = 0; r < stage.stage.reduce_axes.size(); ++r)
    axes[stage.stage.reduce_axes[r].var.get()] = tensor::substitute(stage.axis_values[spatial + r], map);
  Expr guard = tensor::imm({tensor::Element::kBool, 1}, 1);
  for (const Expr& g : stage.guards) guard = tensor::logical_and(guard, tensor::substitute(g, map));
  const tensor::Element element = stage.stage.output->element;
  partial.body = tensor::select(guard, tensor::substitute(stage.stage.body, axes),
                                tensor::identity(*stage.stage.combiner, element));
  if (!partial.reduce_axes.empty()) partial.combiner = stage.stage.combiner;
  std::vector<Expr> extents;
  for (const tensor::Axis& axis : partial.axes) extents.push_back(axis.extent);
  partial.output = tensor::buffer(name, element, std::move(extents));
  return partial;
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const RFactor& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int loop = stage->find_loop(step.loop);
  if (loop < 0) return Illegal::kUnknownLoop;
  if (!stage->loops[static_cast<size_t>(loop)].reduce) return Illegal::kNotReduce;
  if (!spatial_untouched(*stage)) return Illegal::kAlreadySplit;
  if (data.deepest_held_loop(*stage) >= 0 || data.reads_placed(*stage)) return Illegal::kHoldsStages;
  if (!data.require(tensor::less_equal(stage->loops[static_cast<size_t>(loop)].extent,
                                       greatest_part(data, stage->stage))))
    return Illegal::kBadFactor;

  StageState partial;
  partial.name = fresh_stage_name(data, stage->name + ".rf");
  partial.stage = partial_stage(*stage, loop, partial.name);
  reset_loops(partial);

  tensor::Var k = tensor::var("r0");
  std::vector<Expr> indices = {k};
  for (const tensor::Axis& axis : stage->stage.axes) indices.push_back(axis.var);
  stage->stage.body = tensor::load(partial.stage.output, std::move(indices));
  stage->stage.reduce_axes = {{k, partial.stage.axes[0].extent}};
  reset_loops(*stage, stage->origin, stage->region);
  data.stages.insert(data.stages.begin() + (stage - data.stages.data()), std::move(partial));
  return std::nullopt;
}

}  // namespace tf::schedule
