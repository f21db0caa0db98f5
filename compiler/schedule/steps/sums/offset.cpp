#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {
namespace {

using tensor::Element;
using tensor::Expr;
using tensor::Load;
using tensor::Stage;

constexpr tensor::Type kWide{Element::kInt32, 1};

// Null also for a load with a predicate: what it gives where that is false, 0, would not be moved, and the
// sums do not know of it.
const Load* widened_byte(const Expr& factor) {
  const auto* cast = tensor::as<tensor::Cast>(factor);
  const auto* load = cast != nullptr && cast->type() == kWide ? tensor::as<Load>(cast->a) : nullptr;
  if (load == nullptr || load->predicate) return nullptr;
  const Element element = load->type().element;
  return element == Element::kInt8 || element == Element::kUInt8 ? load : nullptr;
}

// The axes of what is read that the stage sums over, each whole; nothing if it is read otherwise.
std::optional<std::vector<int>> summed_axes(const Stage& stage, const Load& factor) {
  std::vector<int> axes;
  for (const tensor::Axis& reduce : stage.reduce_axes) {
    const int axis = analysis::dimension_of(factor, reduce.var.get());
    if (axis < 0) return std::nullopt;
    const auto extent = tensor::as_int(factor.buffer->extents[static_cast<size_t>(axis)]);
    if (!extent || tensor::as_int(reduce.extent) != extent) return std::nullopt;
    axes.push_back(axis);
  }
  for (size_t axis = 0; axis < factor.indices.size(); ++axis) {
    if (std::ranges::count(axes, static_cast<int>(axis)) > 0) continue;
    for (const tensor::Axis& reduce : stage.reduce_axes)
      if (analysis::uses(factor.indices[axis], reduce.var.get())) return std::nullopt;
  }
  std::ranges::sort(axes);
  return axes;
}

// sums[…, 0, …] = sum of `source` along these axes.
StageState sums_stage(const tensor::Buffer& sums, const tensor::Buffer& source,
                      const std::vector<int>& axes) {
  StageState state;
  state.name = sums->name;
  state.stage.output = sums;
  state.stage.combiner = tensor::Combiner::kSum;
  std::vector<Expr> indices;
  for (int axis = 0; axis < source->rank(); ++axis) {
    state.stage.axes.push_back(
        {tensor::var(absl::StrCat("i", axis)), sums->extents[static_cast<size_t>(axis)]});
    if (std::ranges::count(axes, axis) == 0) {
      indices.push_back(state.stage.axes.back().var);
      continue;
    }
    state.stage.reduce_axes.push_back({tensor::var(absl::StrCat("r", state.stage.reduce_axes.size())),
                                       source->extents[static_cast<size_t>(axis)]});
    indices.push_back(state.stage.reduce_axes.back().var);
  }
  state.stage.body = tensor::cast(kWide, tensor::load(source, std::move(indices)));
  reset_loops(state);
  return state;
}

// The stage that makes the moved factor element by element for that sum alone; null if there is none.
StageState* maker_for(StateData& data, const std::string& factor, const tensor::Buffer& moved) {
  StageState* maker = data.find_stage(factor);
  const bool keeps = maker && maker->place == StageState::Place::kRoot && !maker->is_reduction() &&
                     !data.is_output(*maker) && data.readers(moved.get()).size() == 1;
  return keeps ? maker : nullptr;
}

// The maker stores bytes of the other sign, moved, and the sum reads those.
void keep_moved(StageState& maker, StageState& sum, int64_t value) {
  const tensor::Buffer before = maker.stage.output;
  const tensor::Type other{value > 0 ? Element::kUInt8 : Element::kInt8, 1};
  const tensor::Buffer stored = tensor::buffer(before->name, other.element, before->extents);
  maker.stage.output = stored;
  maker.stage.body = tensor::cast(other, maker.stage.body) + tensor::imm(other, static_cast<double>(value));
  sum.stage.body = replace_loads(sum.stage.body, before.get(),
                                 [&](const Load& load) { return tensor::load(stored, load.indices); });
}

}  // namespace

std::optional<Illegal> apply_step(StateData& data, const Offset& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (data.is_output(*stage)) return Illegal::kIsOutput;
  const auto* product = tensor::as<tensor::Binary>(stage->stage.body);
  if (stage->stage.combiner != tensor::Combiner::kSum || !product || product->op != tensor::BinaryOp::kMul)
    return Illegal::kNotOffset;
  const tensor::Buffer moved = data.find_buffer(step.factor);
  const Load *a = widened_byte(product->a), *b = widened_byte(product->b);
  if (!moved || !a || !b || a->buffer.same_as(b->buffer)) return Illegal::kNotOffset;
  const bool first = a->buffer.same_as(moved);
  if (!first && !b->buffer.same_as(moved)) return Illegal::kNotOffset;
  if (step.value != (moved->element == Element::kInt8 ? 128 : -128)) return Illegal::kNotOffset;
  const Load& other = first ? *b : *a;
  std::vector<tensor::Input>& inputs = data.workload.inputs;
  const auto source = std::ranges::find_if(
      inputs, [&](const tensor::Input& input) { return input.buffer.same_as(other.buffer); });
  const bool constant = source != inputs.end() && source->constant;
  const std::optional<std::vector<int>> axes = summed_axes(stage->stage, other);
  if (!axes) return Illegal::kNotOffset;
  for (const StageState& made : data.stages)
    if (made.stage.output.same_as(other.buffer) && made.place != StageState::Place::kRoot)
      return Illegal::kAlreadyPlaced;

  std::vector<Expr> extents = other.buffer->extents, indices = other.indices;
  for (const int axis : *axes) {
    extents[static_cast<size_t>(axis)] = tensor::imm(1);
    indices[static_cast<size_t>(axis)] = tensor::imm(0);
  }
  const std::string name = constant ? absl::StrCat("p", inputs.size())
                                    : fresh_stage_name(data, absl::StrCat(stage->name, ".sums"));
  const tensor::Buffer sums = tensor::buffer(name, Element::kInt32, std::move(extents));
  const Stage before = stage->stage;
  const Expr shift = tensor::imm(kWide, static_cast<double>(step.value));
  if (StageState* maker = maker_for(data, step.factor, moved))
    keep_moved(*maker, *stage, step.value);
  else
    stage->stage.body = first ? (product->a + shift) * product->b : product->a * (product->b + shift);
  for (StageState& reader : data.stages) {
    if (reader.place == StageState::Place::kInlined) continue;
    reader.stage.body = replace_loads(reader.stage.body, before.output.get(), [&](const Load& load) -> Expr {
      tensor::Substitution axes_of_reader;
      for (size_t d = 0; d < before.axes.size(); ++d)
        axes_of_reader[before.axes[d].var.get()] = load.indices[d];
      std::vector<Expr> at;
      for (const Expr& index : indices) at.push_back(tensor::substitute(index, axes_of_reader));
      return tensor::load(load.buffer, load.indices, load.predicate) -
             tensor::load(sums, std::move(at), load.predicate) * shift;
    });
  }
  if (constant) {
    data.sums[name] = {static_cast<int>(source - inputs.begin()), *axes};
    inputs.push_back({.buffer = sums, .constant = true});
  } else {
    data.stages.insert(data.stages.begin() + (stage - data.stages.data()),
                       sums_stage(sums, other.buffer, *axes));
  }
  return std::nullopt;
}

}  // namespace tf::schedule
