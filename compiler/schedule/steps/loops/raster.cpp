#include <algorithm>

#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Raster& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const std::optional<SymInt> group = data.value_of(step.group);
  if (!group) return Illegal::kOpenSize;
  if (!data.require(tensor::less_equal(1, *group)) ||
      !data.require(tensor::less_equal(*group, kMaxRasterGroup)))
    return Illegal::kBadFactor;
  for (const Annotation axis : {Annotation::kGridX, Annotation::kGridY})
    if (std::ranges::count(stage->loops, axis, &Loop::annotation) != 1) return Illegal::kNotRaster;
  for (const StageState& held : data.stages)
    if (held.place == StageState::Place::kAt && held.consumer == stage->name &&
        is_between_grid_loops(*stage, stage->find_loop(held.consumer_loop)))
      return Illegal::kInRaster;
  stage->raster_group = *group;
  return std::nullopt;
}

}  // namespace tf::schedule
