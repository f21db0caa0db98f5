#include "compiler/graph/program/evaluate.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/kernels/group.h"
#include "compiler/graph/kernels/lower_group.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/tensor/evaluate.h"

namespace tf::graph {

absl::Status check_inputs(const Graph& graph, const std::vector<HostTensor>& inputs) {
  const std::vector<NodeId> wanted = graph.inputs();
  if (inputs.size() != wanted.size())
    return absl::InvalidArgumentError(
        absl::StrCat(inputs.size(), " inputs are given, but the model has ", wanted.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(wanted[i]);
    if (inputs[i].element != type.element || inputs[i].shape != graph.shape(type))
      return absl::InvalidArgumentError(
          absl::StrCat("input '", graph.node(wanted[i]).name, "' has the type ",
                       to_string(tensor_type(inputs[i].element, inputs[i].shape)), ", but the model expects ",
                       to_string(tensor_type(type.element, graph.shape(type)))));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> evaluate(const Graph& graph, const std::vector<HostTensor>& inputs) {
  TF_RETURN_IF_ERROR(check_inputs(graph, inputs));
  std::map<NodeId, tensor::Values> values;
  const std::vector<NodeId> wanted = graph.inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    values[wanted[i]] = read_values(inputs[i].element, inputs[i].data->bytes());
  // Constants are read, and views followed, when they are asked for.
  auto value = [&](NodeId id) -> const tensor::Values& {
    const NodeId asked = id;
    while (is_view(graph.node(id)) && !values.contains(id)) id = graph.node(id).inputs[0];
    if (auto* known = as<Constant>(graph.node(id)); known && !values.contains(id))
      values[id] = read_values(graph.type(id).element, known->data->bytes());
    return asked == id ? values.at(id) : values[asked] = values.at(id);
  };
  for (const Group& group : make_groups(graph)) {
    TF_ASSIGN_OR_RETURN(const LoweredGroup lowered, lower_group(graph, group));
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(lowered.workload, lowered.binding));
    if (const std::optional<GatherIndices> indices = indices_of(graph, group)) {
      TF_RETURN_IF_ERROR(check_indices(graph, group, std::get<std::vector<int64_t>>(value(indices->node))));
    }
    std::vector<tensor::Values> operands;
    for (NodeId id : lowered.inputs) operands.push_back(value(id));
    TF_ASSIGN_OR_RETURN(auto results, tensor::evaluate_exactly(bound, operands));
    values[group.result()] = std::move(results[0]);
  }
  std::vector<HostTensor> outputs;
  for (const Output& output : graph.outputs) {
    const TensorType& type = graph.type(output.node);
    outputs.push_back({output.name, type.element, graph.shape(type),
                       std::make_shared<const Blob>(write_values(type.element, value(output.node)))});
  }
  return outputs;
}

}  // namespace tf::graph
