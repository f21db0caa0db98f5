#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const CacheWrite& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (stage->reshaped) return Illegal::kAlreadySplit;
  if (data.deepest_held_loop(*stage) >= 0 || data.reads_placed(*stage)) return Illegal::kHoldsStages;

  StageState copy;
  copy.name = fresh_stage_name(data, stage->name + ".acc");
  copy.stage = with_fresh_axes(stage->stage);
  const tensor::Buffer& output = stage->stage.output;
  copy.stage.output = tensor::buffer(copy.name, output->element, output->extents);
  reset_loops(copy);

  std::vector<tensor::Expr> indices;
  for (const tensor::Axis& axis : stage->stage.axes) indices.push_back(axis.var);
  stage->stage.body = tensor::load(copy.stage.output, std::move(indices));
  stage->stage.reduce_axes.clear();
  stage->stage.combiner.reset();
  const std::vector<Loop> old = stage->loops;
  reset_loops(*stage, stage->origin, stage->region);
  for (size_t i = 0; i < stage->loops.size(); ++i) stage->loops[i].annotation = old[i].annotation;
  data.stages.insert(data.stages.begin() + (stage - data.stages.data()), std::move(copy));
  return std::nullopt;
}

}  // namespace tf::schedule
