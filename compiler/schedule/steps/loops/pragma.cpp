#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Pragma& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const std::optional<SymInt> value = data.value_of(step.value);
  if (!value) return Illegal::kOpenSize;
  if (!data.require(tensor::less_equal(0, *value)) ||
      !data.require(tensor::less_equal(*value, kMaxUnrollLimit)))
    return Illegal::kBadFactor;
  switch (step.kind) {
    case PragmaKind::kUnrollLimit:
      stage->unroll_limit = *value;
      break;
  }
  return std::nullopt;
}

}  // namespace tf::schedule
