#include "compiler/schedule/steps/pragma.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Pragma& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (step.value.is_open()) return Illegal::kOpenSize;
  if (step.value.value < 0 || step.value.value > kMaxUnrollLimit) return Illegal::kBadFactor;
  switch (step.kind) {
    case PragmaKind::kUnrollLimit:
      stage->unroll_limit = step.value.value;
      break;
  }
  return std::nullopt;
}

}  // namespace tf::schedule
