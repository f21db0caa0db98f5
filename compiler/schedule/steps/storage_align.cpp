#include "compiler/schedule/steps/storage_align.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const StorageAlign& step) {
  const StageState* stage = data.find_stage(step.buffer);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (data.is_output(*stage)) return Illegal::kIsOutput;
  if (step.factor.is_open() || step.offset.is_open()) return Illegal::kOpenSize;
  constexpr int64_t kMaxPad = 4096;
  if (step.factor.value < 1 || step.factor.value > kMaxPad || step.offset.value < 0 ||
      step.offset.value > kMaxPad)
    return Illegal::kBadFactor;
  const auto layout = data.layouts.find(step.buffer);
  if (layout != data.layouts.end() && !layout->second.is_row_major()) return Illegal::kBadLayout;
  if (step.axis < 0 || step.axis + 2 != stage->stage.output->rank()) return Illegal::kBadLayout;
  data.pitches[step.buffer] = {step.factor.value, step.offset.value};
  return std::nullopt;
}

}  // namespace tf::schedule
