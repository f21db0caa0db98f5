#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Root& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (stage->place == StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
  if (stage->reshaped) return Illegal::kAlreadySplit;
  if (data.deepest_held_loop(*stage) >= 0) return Illegal::kHoldsStages;
  if (data.reads_placed(*stage)) return Illegal::kHoldsStages;
  stage->place = StageState::Place::kRoot;
  stage->consumer.clear();
  stage->consumer_loop.clear();
  stage->scope = tensor::Scope::kGlobal;
  reset_loops(*stage);
  return std::nullopt;
}

}  // namespace tf::schedule
