#include "compiler/graph/passes/fold_kernel.h"

#include "compiler/graph/element_values.h"
#include "compiler/graph/kernels/lower_group.h"
#include "compiler/tensor/evaluate.h"

namespace tf::graph {
namespace {

// Expressions that are evaluated, of about 20 ns each.
constexpr double kMostWork = 1 << 23;

double work_of(const tensor::Workload& bound) {
  double work = 0;
  for (const tensor::Stage& stage : bound.stages) {
    double places = 1, size = 0;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes})
      for (const tensor::Axis& axis : *axes)
        places *= static_cast<double>(tensor::as_int(axis.extent).value_or(INT32_MAX));
    tensor::for_each(stage.body, [&](const tensor::Expr&) { return ++size * places <= kMostWork; });
    work += places * size;
  }
  return work;
}

}  // namespace

BlobRef fold_kernel(const Graph& graph, const Op& op, std::span<const NodeId> inputs,
                    const TensorType& result) {
  if (std::holds_alternative<Gather>(op) || !needs_kernel(Node{.op = op})) return nullptr;
  Graph alone;
  std::vector<NodeId> operands;
  for (NodeId input : inputs)
    operands.push_back(
        alone.add_constant(graph.type(input), as<Constant>(graph.node(input))->data, "operand"));
  const absl::StatusOr<NodeId> node = alone.add(op, operands, "folded");
  if (!node.ok() || alone.shape(*node) != graph.shape(result)) return nullptr;
  const absl::StatusOr<LoweredGroup> lowered = lower_group(alone, {{*node}});
  if (!lowered.ok() || !lowered->workload.dims.empty() || work_of(lowered->workload) > kMostWork)
    return nullptr;
  std::vector<tensor::Values> values;
  for (NodeId id : lowered->inputs)
    values.push_back(read_values(alone.type(id).element, as<Constant>(alone.node(id))->data->bytes()));
  const auto results = tensor::evaluate_exactly(lowered->workload, values);
  if (!results.ok()) return nullptr;
  return std::make_shared<const Blob>(write_values(result.element, (*results)[0]));
}

}  // namespace tf::graph
