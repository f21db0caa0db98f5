#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Narrow& step) {
  const tensor::Buffer wide = data.find_buffer(step.buffer);
  if (!wide) return Illegal::kUnknownStage;
  if (step.element != tensor::Element::kBFloat16 && step.element != tensor::Element::kFloat16)
    return Illegal::kNotNarrow;
  if (wide->element != tensor::Element::kFloat32 || !data.maps.empty()) return Illegal::kNotNarrow;
  const tensor::Buffer narrow = tensor::buffer(wide->name, step.element, wide->extents);
  if (StageState* stage = data.find_stage(step.buffer)) {
    if (stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
    if (stage->place != StageState::Place::kRoot) return Illegal::kAlreadyPlaced;
    if (data.is_output(*stage)) return Illegal::kIsOutput;
    if (stage->is_reduction()) return Illegal::kNotNarrow;
    stage->stage.output = narrow;
    stage->stage.body = tensor::cast({step.element, 1}, stage->stage.body);
  } else {
    tensor::Input& input = data.workload.inputs[static_cast<size_t>(data.find_input(step.buffer))];
    if (!input.constant) return Illegal::kNotNarrow;
    input.buffer = narrow;
  }
  for (StageState& reader : data.stages) {
    if (reader.place == StageState::Place::kInlined) continue;
    reader.stage.body =
        replace_loads(reader.stage.body, wide.get(), [&](const tensor::Load& load) -> tensor::Expr {
          return tensor::cast(load.type(), tensor::load(narrow, load.indices, load.predicate));
        });
  }
  return std::nullopt;
}

}  // namespace tf::schedule
