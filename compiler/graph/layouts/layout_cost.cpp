#include "compiler/graph/layouts/layout_cost.h"

#include <algorithm>

namespace tf::graph {
namespace {

constexpr double kFlopsPerNs = 60, kBytesPerNs = 10, kCallNs = 1000;

bool has_weighted_reduction(const tensor::Workload& workload) {
  const bool weights =
      std::any_of(workload.inputs.begin(), workload.inputs.end(),
                  [](const tensor::Input& input) { return input.constant && input.buffer->rank() > 2; });
  return weights && std::any_of(workload.stages.begin(), workload.stages.end(),
                                [](const tensor::Stage& stage) { return !stage.reduce_axes.empty(); });
}

// Whether a sum's factors are bytes or bf16 whose channels lie side by side, as dot-product instructions take
// them.
bool takes_dot_products(const Task& task) {
  const bool blocked = std::none_of(task.kernel.ports.inputs.begin(), task.kernel.ports.inputs.end(),
                                    [](const tensor::Layout& in) { return in.is_row_major(); });
  return blocked && std::any_of(task.kernel.workload.inputs.begin(), task.kernel.workload.inputs.end(),
                                [](const tensor::Input& input) {
                                  const int width = tensor::element_bytes(input.buffer->element);
                                  return input.constant && input.buffer->rank() > 2 && width <= 2;
                                });
}

// Whether the input's layout differs from the result's. With channels last, an input of one pixel has the same order.
bool is_mixed(const tensor::Workload& workload, size_t input, const tensor::Layout& in,
              const tensor::Layout& out) {
  if (in == out) return false;
  if (out.is_row_major() || out.axes.back().block != 0) return true;
  const std::vector<tensor::Expr>& extents = workload.inputs[input].buffer->extents;
  return extents.size() != 4 || tensor::as_int(extents[2]) != 1 || tensor::as_int(extents[3]) != 1;
}

// Whether blocks of the result start inside blocks of an operand: a concatenation of channels that do not
// fill blocks.
bool crosses_blocks(const Task& task) {
  if (!task.kernel.workload.label.starts_with("concat") || task.kernel.ports.outputs[0].is_row_major())
    return false;
  const tensor::LayoutAxis block = task.kernel.ports.outputs[0].axes.back();
  if (block.block == 0) return false;
  for (const tensor::Input& input : task.kernel.workload.inputs) {
    const auto extent = tensor::as_int(input.buffer->extents[block.axis]);
    if (!extent || *extent % block.block != 0) return true;
  }
  return false;
}

}  // namespace

double StaticLayoutCost::nanoseconds(const Task& task) const {
  const tensor::Layout& out = task.kernel.ports.outputs[0];
  bool mixed = false;
  for (size_t k = 0; k < task.kernel.workload.inputs.size(); ++k)
    if (!task.kernel.workload.inputs[k].constant)
      mixed =
          mixed || is_mixed(task.kernel.workload, k, task.kernel.ports.input(task.kernel.workload, k), out);
  double arithmetic = task.flops / kFlopsPerNs, memory = task.bytes / kBytesPerNs;
  if (has_weighted_reduction(task.kernel.workload)) {
    if (out.is_row_major()) arithmetic *= 1.5;
    if (takes_dot_products(task)) arithmetic /= 3;
    if (mixed) arithmetic *= 1.05;
  } else if (mixed) {
    memory *= 2;  // one side is not contiguous
  }
  if (crosses_blocks(task)) memory *= 4;
  return std::max(arithmetic, memory) + kCallNs;
}

}  // namespace tf::graph
