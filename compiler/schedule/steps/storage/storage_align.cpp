#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const StorageAlign& step) {
  const StageState* stage = data.find_stage(step.buffer);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (data.is_output(*stage)) return Illegal::kIsOutput;
  const std::optional<SymInt> factor = data.value_of(step.factor), offset = data.value_of(step.offset);
  if (!factor || !offset) return Illegal::kOpenSize;
  for (const auto& [size, least] : {std::pair(*factor, 1), std::pair(*offset, 0)})
    if (!data.require(tensor::less_equal(least, size)) ||
        !data.require(tensor::less_equal(size, kMaxPadElements)))
      return Illegal::kBadFactor;
  const auto layout = data.layouts.find(step.buffer);
  if (layout != data.layouts.end() && !layout->second.is_row_major()) return Illegal::kBadLayout;
  if (step.axis < 0 || step.axis + 2 != stage->stage.output->rank()) return Illegal::kBadLayout;
  data.pitches[step.buffer] = {*factor, *offset};
  return std::nullopt;
}

}  // namespace tf::schedule
