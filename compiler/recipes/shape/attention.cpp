#include "compiler/recipes/shape/attention.h"

#include <algorithm>

#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {
namespace {

using tensor::Stage;
using tensor::Workload;

// The axis along which rows of weights lie, if the stage is Σ weights[…, row, r] * values[…, r, …, column]
// over its own axes, of which the last one is `column`.
std::optional<int> weighted_rows(const Stage& stage, const tensor::BufferNode* weights) {
  const size_t rank = stage.axes.size();
  if (rank < 2 || stage.reduce_axes.size() != 1 || stage.combiner != tensor::Combiner::kSum)
    return std::nullopt;
  constexpr int kReduce = -1, kOne = -2, kElse = -3;
  // What runs along the dimension of a loaded buffer: an axis of the stage, the sum, or nothing.
  auto runs_along = [&](const tensor::Load& load, size_t d) {
    if (load.indices[d].get() == stage.reduce_axes[0].var.get()) return kReduce;
    for (size_t axis = 0; axis < rank; ++axis)
      if (load.indices[d].get() == stage.axes[axis].var.get()) return static_cast<int>(axis);
    const bool one = tensor::as_int(load.indices[d]) == 0 && tensor::as_int(load.buffer->extents[d]) == 1;
    return one ? kOne : kElse;
  };
  const int column = static_cast<int>(rank) - 1;
  std::vector<int> left, right;
  int loads = 0;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    ++loads;
    std::vector<int>& along = load->buffer.get() == weights ? left : right;
    for (size_t d = 0; d < load->indices.size(); ++d) along.push_back(runs_along(*load, d));
    return true;
  });
  if (loads != 2 || left.size() != rank || right.size() != rank || left.back() != kReduce ||
      left[rank - 2] < 0 || right.back() != column)
    return std::nullopt;
  const int row = left[rank - 2];
  for (int axis = 0; axis < column; ++axis) {
    const bool needed = extent_of(stage.axes[static_cast<size_t>(axis)]) > 1 && axis != row;
    const auto times = std::ranges::count(left, axis);
    if (times > 1 || (needed && times == 0) || std::ranges::count(right, axis) > 1) return std::nullopt;
  }
  const bool fits = std::ranges::count(left, kReduce) == 1 && std::ranges::count(right, kReduce) == 1 &&
                    std::ranges::count(left, column) == 0 && std::ranges::count(right, row) == 0 &&
                    std::ranges::count(left, kElse) + std::ranges::count(right, kElse) == 0;
  return fits ? std::optional(row) : std::nullopt;
}

}  // namespace

std::optional<Attention> attention_of(const Workload& workload, const tensor::PortLayouts& ports) {
  if (workload.stages.size() < 2 || workload.outputs.size() != 1) return std::nullopt;
  const Stage& last = workload.stages.back();
  const tensor::Buffer weights = workload.stages[workload.stages.size() - 2].output;
  const std::optional<int> row = weighted_rows(last, weights.get());
  if (!last.output.same_as(workload.outputs[0]) || !ports.output(0).is_row_major() || !row)
    return std::nullopt;
  Attention attention;
  attention.row = *row;
  attention.inner = workload;
  attention.inner.stages.pop_back();
  attention.inner.outputs = {weights};
  const std::optional<Rows> rows = rows_with_product(attention.inner, {ports.inputs, {}});
  if (!rows || rows->across) return std::nullopt;
  attention.rows = *rows;
  // All but the last axis of the weights are row axes, and the product gives whole rows.
  const size_t rank = last.axes.size();
  if (rows->row_axes.size() != rank - 1 || rows->row_axes.back() != static_cast<int>(rank) - 2)
    return std::nullopt;
  for (size_t s = 0; s < rows->stages.size(); ++s) {
    if (!rows->stages[s].product) continue;
    attention.scores = static_cast<int>(s);
    if (attention.inner.stages[s].axes.size() != rank || attention.inner.stages[s].reduce_axes.size() != 1 ||
        rows->stages[s].vector_axis != static_cast<int>(rank) - 1)
      return std::nullopt;
  }
  return attention;
}

}  // namespace tf::recipes
