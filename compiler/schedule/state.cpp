#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/analysis/access.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/step_names.h"
#include "compiler/schedule/steps/steps.h"
#include "compiler/tensor/text.h"

namespace tf::schedule {
namespace {

using tensor::as;
using tensor::Expr;

std::optional<Illegal> dispatch(StateData& data, const Step& step) {
  // A pipeline changes only when the factors are copied.
  const StageState* stage = data.find_stage(names_in(step).stage);
  if (stage && (stage->tensor || stage->is_factor) && !std::holds_alternative<Pipeline>(step))
    return Illegal::kIsTensor;
  return std::visit([&](const auto& s) { return apply_step(data, s); }, step);
}

}  // namespace

int StageState::find_loop(std::string_view loop) const {
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].name == loop) return static_cast<int>(i);
  return -1;
}

std::vector<Expr> StageState::absolute_values() const {
  std::vector<Expr> values = axis_values;
  for (size_t d = 0; d < origin.size(); ++d) values[d] = origin[d] + values[d];
  return values;
}

StageState* StateData::find_stage(std::string_view name) {
  for (StageState& stage : stages)
    if (stage.name == name) return &stage;
  return nullptr;
}

const StageState* StateData::find_stage(std::string_view name) const {
  return const_cast<StateData*>(this)->find_stage(name);
}

int StateData::find_input(std::string_view name) const {
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (absl::StrCat("p", i) == absl::string_view(name.data(), name.size())) return static_cast<int>(i);
  return -1;
}

tensor::Buffer StateData::find_buffer(std::string_view name) const {
  if (const StageState* stage = find_stage(name)) return stage->stage.output;
  const int input = find_input(name);
  return input < 0 ? tensor::Buffer() : workload.inputs[static_cast<size_t>(input)].buffer;
}

bool StateData::is_output(const StageState& stage) const {
  return std::ranges::any_of(workload.outputs,
                             [&](const tensor::Buffer& b) { return b.same_as(stage.stage.output); });
}

std::vector<const StageState*> StateData::readers(const tensor::BufferNode* buffer) const {
  std::vector<const StageState*> found;
  for (const StageState& stage : stages) {
    if (stage.place == StageState::Place::kInlined) continue;
    bool reads = false;
    tensor::for_each(stage.stage.body, [&](const Expr& e) {
      if (const auto* load = as<tensor::Load>(e)) reads = reads || load->buffer.get() == buffer;
      return !reads;
    });
    if (reads) found.push_back(&stage);
  }
  return found;
}

bool StateData::reads_placed(const StageState& stage) const {
  for (const StageState& other : stages)
    if (other.place == StageState::Place::kAt)
      for (const StageState* reader : readers(other.stage.output.get()))
        if (reader == &stage) return true;
  return false;
}

bool StateData::is_inside(const StageState& stage, const StageState& holder, int loop) const {
  const StageState* at = &stage;
  while (at->place == StageState::Place::kAt) {
    const StageState* next = find_stage(at->consumer);
    TF_CHECK(next) << at->name << " is in " << at->consumer;
    if (next == &holder) return next->find_loop(at->consumer_loop) >= loop;
    at = next;
  }
  return false;
}

bool folds_lanes(const StageState& stage) {
  return !stage.loops.empty() && stage.loops.back().reduce && is_thread(stage.loops.back().annotation);
}

std::optional<StateData::LoopAround> StateData::thread_around(const StageState& stage,
                                                              Annotation annotation) const {
  for (const StageState* at = &stage; at->place == StageState::Place::kAt;) {
    const StageState* holder = find_stage(at->consumer);
    for (int i = holder->find_loop(at->consumer_loop); i >= 0; --i)
      if (holder->loops[static_cast<size_t>(i)].annotation == annotation) return LoopAround{holder, i};
    at = holder;
  }
  return std::nullopt;
}

std::vector<const StageState*> StateData::copied_in(const StageState& holder, std::string_view loop) const {
  std::vector<const StageState*> found;
  for (const StageState& stage : stages)
    if (stage.place == StageState::Place::kAt && stage.consumer == holder.name &&
        stage.consumer_loop == loop && stage.scope == tensor::Scope::kShared && !stage.is_reduction() &&
        !reads_placed(stage))
      found.push_back(&stage);
  return found;
}

int StateData::deepest_held_loop(const StageState& holder) const {
  int deepest = -1;
  for (const StageState& stage : stages)
    if (stage.place == StageState::Place::kAt && stage.consumer == holder.name)
      deepest = std::max(deepest, holder.find_loop(stage.consumer_loop));
  return deepest;
}

std::optional<SymInt> StateData::value_of(const Size& size) const {
  if (!size.is_open()) return SymInt(size.value);
  const auto parameter = static_cast<size_t>(size.parameter), part = static_cast<size_t>(size.part);
  if (parameter >= open.size() || part >= open[parameter].size()) return std::nullopt;
  const OpenSize& known = open[parameter][part];
  return known.least == known.greatest ? SymInt(known.least) : SymInt(known.var);
}

bool StateData::require(const Expr& condition) {
  if (const std::optional<int64_t> known = tensor::as_int(condition)) return *known != 0;
  const analysis::Interval truth = analysis::interval_of(condition, open_ranges());
  if (!truth.is_point()) conditions.push_back(condition);
  return truth.max != 0;
}

analysis::RangeMap StateData::open_ranges() const {
  analysis::RangeMap ranges = analysis::ranges_of(workload.dims);
  for (const std::vector<OpenSize>& parameter : open)
    for (const OpenSize& part : parameter) ranges[part.var.get()] = {part.least, part.greatest};
  return ranges;
}

bool StateData::has_dims(const SymInt& size) const {
  if (!size.is_open()) return false;
  return std::ranges::any_of(workload.dims, [&](const tensor::Dimension& dim) {
    return analysis::uses(size.expr(), dim.var.get());
  });
}

analysis::Interval StateData::iterations(const SymInt& extent) const {
  if (!extent.is_open()) return analysis::Interval::from_extent(0, extent);
  const analysis::Interval range = analysis::interval_of(extent.expr(), open_ranges());
  return analysis::Interval::from_extent(0, std::max<int64_t>(range.max, 1));
}

State::State(const tensor::Workload& workload, OpenSizes open) {
  data_.workload = workload;
  data_.open = std::move(open);
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    StageState stage;
    stage.name = absl::StrCat("t", i);
    stage.stage = workload.stages[i];
    reset_loops(stage);
    data_.stages.push_back(std::move(stage));
  }
}

std::optional<StepError> State::apply(const Step& step) {
  if (steps_ >= kMaxSteps) return StepError{Illegal::kTooManySteps, steps_};
  if (std::optional<Illegal> reason = dispatch(data_, step)) return StepError{*reason, steps_};
  ++steps_;
  return std::nullopt;
}

absl::StatusOr<State> apply(const tensor::Workload& workload, const Schedule& schedule) {
  State state(workload);
  for (const Step& step : schedule.steps) {
    if (std::optional<StepError> error = state.apply(step))
      return absl::FailedPreconditionError(explain(*error, step, state));
    if (!state.data().conditions.empty())
      return absl::FailedPreconditionError(absl::StrCat("step '", to_string(step),
                                                        "' is legal for some sizes only: where ",
                                                        tensor::to_string(state.data().conditions[0])));
  }
  return state;
}

}  // namespace tf::schedule
