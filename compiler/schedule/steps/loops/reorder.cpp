#include <algorithm>

#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Reorder& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const size_t count = stage->loops.size();
  if (step.loops.size() != count) return Illegal::kIncompleteOrder;
  const int held = data.deepest_held_loop(*stage);
  std::vector<int> order;
  for (const std::string& name : step.loops) {
    const int index = stage->find_loop(name);
    if (index < 0) return Illegal::kUnknownLoop;
    if (std::ranges::count(order, index) != 0) return Illegal::kIncompleteOrder;
    const int place = static_cast<int>(order.size());
    if (index != place && (place <= held || index <= held)) return Illegal::kHoldsStages;
    if (stage->loops[static_cast<size_t>(index)].annotation == Annotation::kVectorize &&
        place + 1 != static_cast<int>(count))
      return Illegal::kNotInnermost;
    order.push_back(index);
  }
  std::vector<Loop> loops;
  std::vector<tensor::Var> vars;
  for (int index : order) {
    loops.push_back(stage->loops[static_cast<size_t>(index)]);
    vars.push_back(stage->loop_vars[static_cast<size_t>(index)]);
  }
  stage->loops = std::move(loops);
  stage->loop_vars = std::move(vars);
  stage->reshaped = true;
  return std::nullopt;
}

}  // namespace tf::schedule
