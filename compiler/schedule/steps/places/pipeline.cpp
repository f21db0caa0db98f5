#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Pipeline& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const int index = stage->find_loop(step.loop);
  if (index < 0) return Illegal::kUnknownLoop;
  const std::optional<SymInt> stages = data.value_of(step.stages);
  if (!stages) return Illegal::kOpenSize;
  if (!data.require(tensor::less_equal(1, *stages)) ||
      !data.require(tensor::less_equal(*stages, kMaxPipelineStages)))
    return Illegal::kBadFactor;
  if (stage->loops[static_cast<size_t>(index)].annotation != Annotation::kSerial ||
      data.copied_in(*stage, step.loop).empty())
    return Illegal::kNotPipeline;
  if (!data.require(tensor::less_equal(copied_bytes(data, *stage, step.loop) * *stages, kMaxSharedBytes)))
    return Illegal::kSharedBytes;
  stage->pipelined_loop = step.loop;
  stage->pipeline_stages = *stages;
  return std::nullopt;
}

}  // namespace tf::schedule
