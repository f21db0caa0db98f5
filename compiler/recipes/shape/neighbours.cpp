#include "compiler/recipes/shape/neighbours.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/access.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

namespace {

using tensor::Expr;
using tensor::Stage;

tensor::Layout layout_of(const tensor::KernelSpec& kernel, const tensor::BufferNode* buffer) {
  const tensor::Workload& workload = kernel.workload;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.get() == buffer && !workload.inputs[i].constant)
      return kernel.ports.input(workload, i);
  for (size_t i = 0; i < workload.outputs.size(); ++i)
    if (workload.outputs[i].get() == buffer) return kernel.ports.output(i);
  return {};
}

bool is_row_major(const tensor::KernelSpec& kernel, const tensor::BufferNode* buffer) {
  return layout_of(kernel, buffer).axes.empty();
}

// How many of the axes, the innermost ones, a memory access moves along with what is stored, or not at all.
class RunFinder {
 public:
  RunFinder(const tensor::KernelSpec& kernel, const Stage& stage) : kernel_(kernel), stage_(stage) {
    for (const tensor::Axis& axis : stage.axes) ranges_[axis.var.get()] = {0, extent_of(axis) - 1};
    const std::optional<std::vector<size_t>> order = memory_order(kernel, *stage.output);
    if (!order) return;
    for (const size_t d : *order) axes_.push_back(stage.axes[d]);
    int64_t stride = 1;
    strides_.resize(axes_.size());
    for (size_t d = axes_.size(); d-- > 0; stride *= extent_of(axes_[d])) strides_[d] = stride;
  }

  Neighbours find() {
    Neighbours found{.least_bytes = tensor::element_bytes(stage_.output->element)};
    found.most_bytes = found.least_bytes;
    if (axes_.size() != stage_.axes.size()) return found;
    std::unordered_set<const tensor::ExprNode*> seen;  // shared parts make a tree walk exponential
    tensor::for_each(stage_.body, [&](const Expr& e) {
      if (!seen.insert(e.get()).second) return false;
      if (const auto* load = tensor::as<tensor::Load>(e)) {
        const auto bytes = static_cast<int64_t>(tensor::element_bytes(load->buffer->element));
        if (take_load(*load)) {
          found.least_bytes = std::min(found.least_bytes, bytes);
          found.most_bytes = std::max(found.most_bytes, bytes);
        }
      } else if (const auto* select = tensor::as<tensor::Select>(e)) {
        take_condition(select->condition);
      }
      return true;
    });
    if (first_ == 0) {
      found.run = 0;
      return found;
    }
    for (size_t d = first_; d < axes_.size(); ++d) found.run *= extent_of(axes_[d]);
    return found;
  }

 private:
  // Whether neighbours are loaded from different places.
  bool take_load(const tensor::Load& load) {
    const Expr offset = element_offset(load, layout_of(kernel_, load.buffer.get()));
    std::optional<bool> moves;
    for (size_t d = axes_.size(); d-- > first_;) {
      if (extent_of(axes_[d]) == 1) continue;
      const std::optional<int64_t> stride =
          offset ? analysis::stride(offset, axes_[d].var.get(), ranges_) : std::nullopt;
      const bool with = stride == strides_[d], still = stride == 0;
      if ((with || still) && moves.value_or(with) == with) {
        moves = with;
        continue;
      }
      first_ = d + 1;
      break;
    }
    return moves.value_or(true);
  }

  void take_condition(const Expr& condition) {
    for (size_t d = first_; d < axes_.size(); ++d)
      if (analysis::uses(condition, axes_[d].var.get()) && !is_of_data(condition)) first_ = d + 1;
  }

  // What elements decide is a choice between values; where they are loaded from does not change.
  static bool is_of_data(const Expr& condition) { return analysis::contains_load(condition); }

  const tensor::KernelSpec& kernel_;
  const Stage& stage_;
  std::vector<tensor::Axis> axes_;  // outermost in memory first; none: not whole axes lie there
  std::vector<int64_t> strides_;
  analysis::RangeMap ranges_;
  size_t first_ = 0;
};

// Loads, each once, that are not parts of others' indices.
std::vector<const tensor::Load*> loads_of(const Expr& body) {
  std::vector<const tensor::Load*> loads;
  std::unordered_set<const tensor::ExprNode*> seen;
  tensor::for_each(body, [&](const Expr& e) {
    if (!seen.insert(e.get()).second) return false;
    if (const auto* load = tensor::as<tensor::Load>(e)) loads.push_back(load);
    return true;
  });
  return loads;
}

}  // namespace

std::optional<std::vector<size_t>> memory_order(const tensor::KernelSpec& kernel,
                                                const tensor::BufferNode& buffer) {
  return memory_order(layout_of(kernel, &buffer), buffer.rank());
}

std::vector<TurnedInput> turned_inputs(const tensor::KernelSpec& kernel, const Stage& stage) {
  const std::optional<int> last = memory_axis(*stage.output, {});
  if (!last || !is_row_major(kernel, stage.output.get())) return {};
  analysis::RangeMap ranges;
  for (const tensor::Axis& axis : stage.axes) ranges[axis.var.get()] = {0, extent_of(axis) - 1};
  const std::vector<const tensor::Load*> loads = loads_of(stage.body);
  std::vector<TurnedInput> turned;
  for (const tensor::Load* load : loads) {
    const auto input = std::ranges::find_if(
        kernel.workload.inputs, [&](const tensor::Input& each) { return each.buffer.same_as(load->buffer); });
    const auto reads = std::ranges::count_if(
        loads, [&](const tensor::Load* other) { return other->buffer.same_as(load->buffer); });
    if (input == kernel.workload.inputs.end() || reads != 1 || !is_row_major(kernel, load->buffer.get()))
      continue;
    const Expr offset = element_offset(*load, {});
    const auto stride = [&](size_t axis) {
      return analysis::stride(offset, stage.axes[axis].var.get(), ranges);
    };
    if (stride(static_cast<size_t>(*last)).value_or(0) <= 1) continue;
    for (size_t axis = 0; axis < stage.axes.size(); ++axis)
      if (extent_of(stage.axes[axis]) > 1 && stride(axis) == 1)
        turned.push_back({static_cast<int>(input - kernel.workload.inputs.begin()), static_cast<int>(axis)});
  }
  return turned;
}

Neighbours neighbours_of(const tensor::KernelSpec& kernel, const Stage& stage) {
  return RunFinder(kernel, stage).find();
}

}  // namespace tf::recipes
