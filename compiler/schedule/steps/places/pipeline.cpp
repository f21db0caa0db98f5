#include <algorithm>

#include "compiler/schedule/bulk_copy.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Pipeline& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int index = stage->find_loop(step.loop);
  if (index < 0) return Illegal::kUnknownLoop;
  const std::optional<SymInt> stages = data.value_of(step.stages);
  const std::optional<SymInt> bulk = data.value_of(step.bulk);
  if (!stages || !bulk) return Illegal::kOpenSize;
  if (!data.require(tensor::less_equal(1, *stages)) ||
      !data.require(tensor::less_equal(*stages, kMaxPipelineStages)) ||
      !data.require(tensor::less_equal(0, *bulk)) || !data.require(tensor::less_equal(*bulk, 1)) ||
      !data.require(tensor::less_equal(*bulk + 1, *stages)))
    return Illegal::kBadFactor;
  if (stage->loops[static_cast<size_t>(index)].annotation != Annotation::kSerial ||
      data.copied_in(*stage, step.loop).empty())
    return Illegal::kNotPipeline;
  if (!data.require(tensor::less_equal(copied_bytes(data, *stage, step.loop) * *stages, kMaxSharedBytes)))
    return Illegal::kSharedBytes;
  const bool can_be_bulk = std::ranges::any_of(
      data.copied_in(*stage, step.loop), [&](const StageState* copy) { return is_bulk_copy(data, *copy); });
  if (!can_be_bulk && !data.require(tensor::less_equal(*bulk, 0))) return Illegal::kNotBulk;
  stage->pipelined_loop = step.loop;
  stage->pipeline_stages = *stages;
  stage->bulk_copies = *bulk;
  return std::nullopt;
}

}  // namespace tf::schedule
