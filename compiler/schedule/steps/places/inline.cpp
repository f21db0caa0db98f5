#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Inline& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage) return Illegal::kUnknownStage;
  if (stage->place != StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
  if (stage->is_reduction()) return Illegal::kNotElementwise;
  if (data.is_output(*stage)) return Illegal::kIsOutput;
  if (data.deepest_held_loop(*stage) >= 0) return Illegal::kHoldsStages;
  const tensor::Buffer output = stage->stage.output;
  if (data.readers(output.get()).empty()) return Illegal::kNoConsumer;

  for (StageState& reader : data.stages) {
    if (reader.place == StageState::Place::kInlined) continue;
    reader.stage.body = replace_loads(reader.stage.body, output.get(), [&](const tensor::Load& load) {
      tensor::Substitution map;
      for (size_t d = 0; d < load.indices.size(); ++d) map[stage->stage.axes[d].var.get()] = load.indices[d];
      return tensor::substitute(stage->stage.body, map);
    });
  }
  stage->place = StageState::Place::kInlined;
  return std::nullopt;
}

}  // namespace tf::schedule
