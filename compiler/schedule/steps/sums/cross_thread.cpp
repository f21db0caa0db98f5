#include <algorithm>

#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const CrossThread& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  const std::optional<SymInt> threads = data.value_of(step.threads);
  if (!threads) return Illegal::kOpenSize;
  const char* name = step.axis == Annotation::kThreadX ? "x" : step.axis == Annotation::kThreadY ? "y" : "z";
  if (!is_thread(step.axis) || stage->place != StageState::Place::kRoot || stage->find_loop(name) >= 0 ||
      std::ranges::count(stage->loops, step.axis, &Loop::annotation) != 0)
    return Illegal::kNotCross;
  if (data.deepest_held_loop(*stage) >= 0) return Illegal::kHoldsStages;
  if (!data.require(tensor::less_equal(1, *threads)) ||
      !data.require(tensor::less_equal(*threads, kMaxBlockThreads)))
    return Illegal::kBadFactor;
  const tensor::Var thread = tensor::var(name);
  auto place = std::ranges::find(stage->loops, true, &Loop::reduce) - stage->loops.begin();
  if (place > 0 && stage->loops[static_cast<size_t>(place) - 1].annotation == Annotation::kVectorize)
    --place;  // lanes stay innermost
  stage->loops.insert(stage->loops.begin() + place, Loop{name, *threads, false, step.axis});
  stage->loop_vars.insert(stage->loop_vars.begin() + place, thread);
  stage->guards.push_back(tensor::Expr(thread) < tensor::imm(1));
  stage->reshaped = true;
  return std::nullopt;
}

}  // namespace tf::schedule
