#include "compiler/graph/program/evaluate.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/found.h"
#include "compiler/graph/kernels/group.h"
#include "compiler/graph/kernels/lower_group.h"
#include "compiler/graph/program/gather_indices.h"
#include "compiler/graph/program/host_calls.h"
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

namespace {

using tensor::Values;

// The values of a graph's outputs for those of its inputs.
absl::StatusOr<std::vector<Values>> run(const Graph& graph, std::vector<Values> inputs);

std::string bytes_of(const TensorType& type, const Values& values) {
  return write_values(type.element, values);
}

// As a model does it: by the runtime's function, on elements.
absl::StatusOr<std::vector<Values>> run_host_function(const Graph& graph, const Node& node,
                                                      const std::vector<Values>& operands) {
  const HostCall call = host_call(node);
  const std::vector<int64_t> numbers = host_numbers(call, graph, node);
  std::vector<std::string> buffers;
  std::vector<TensorType> types = {node.type};
  types.insert(types.end(), node.more_types.begin(), node.more_types.end());
  for (size_t i = 0; i < operands.size(); ++i)
    buffers.push_back(bytes_of(graph.type(node.inputs[i]), operands[i]));
  for (const TensorType& type : types) {
    TF_ASSIGN_OR_RETURN(const int64_t count, element_count(graph.shape(type)));
    buffers.emplace_back(static_cast<size_t>(count * tensor::element_bytes(type.element)), '\0');
  }
  if (const absl::Status status = graph::run_host_function(call, numbers, buffers); !status.ok())
    return absl::Status(status.code(), absl::StrCat("node '", node.name, "': ", status.message()));
  std::vector<Values> results;
  for (size_t i = 0; i < types.size(); ++i)
    results.push_back(read_values(types[i].element, buffers[operands.size() + i]));
  return results;
}

bool truth(const Values& values) {
  return std::get<std::vector<int64_t>>(values)[0] != 0;
}

// Slice number `i` along axis 0 of `count` equal ones.
Values slice(const Values& values, int64_t i, int64_t count) {
  return std::visit(
      [&](const auto& all) -> Values {
        const auto size = static_cast<int64_t>(all.size()) / count;
        return std::decay_t<decltype(all)>(all.begin() + i * size, all.begin() + (i + 1) * size);
      },
      values);
}

absl::StatusOr<std::vector<Values>> run_loop(const Graph& graph, const Node& node, const Loop& loop,
                                             const std::vector<Values>& operands) {
  const size_t first = loop.conditional ? 2 : 1;
  const auto carried = static_cast<size_t>(loop.carried), scanned = static_cast<size_t>(loop.scanned);
  const int64_t trips = std::get<std::vector<int64_t>>(operands[0])[0];
  std::vector<Values> state(operands.begin() + static_cast<std::ptrdiff_t>(first),
                            operands.begin() + static_cast<std::ptrdiff_t>(first + carried));
  std::vector<std::vector<Values>> joined(loop.backward.size() - scanned);
  bool goes_on = !loop.conditional || truth(operands[1]);
  for (int64_t trip = 0; trip < trips && goes_on; ++trip) {
    std::vector<Values> inputs = {std::vector<int64_t>{trip}};
    inputs.insert(inputs.end(), state.begin(), state.end());
    for (size_t i = 0; i < scanned; ++i) {
      const size_t operand = first + carried + i;
      inputs.push_back(slice(operands[operand], loop.backward[i] != 0 ? trips - 1 - trip : trip,
                             graph.shape(node.inputs[operand])[0]));
    }
    inputs.insert(inputs.end(), operands.begin() + static_cast<std::ptrdiff_t>(first + carried + scanned),
                  operands.end());
    TF_ASSIGN_OR_RETURN(std::vector<Values> outputs, run(*loop.body, std::move(inputs)));
    if (loop.conditional) {
      goes_on = truth(outputs[0]);
      outputs.erase(outputs.begin());
    }
    std::move(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(carried), state.begin());
    for (size_t i = 0; i < joined.size(); ++i) joined[i].push_back(std::move(outputs[carried + i]));
  }
  std::vector<Values> results = std::move(state);
  for (size_t i = 0; i < joined.size(); ++i) {
    if (loop.backward[scanned + i] != 0) std::reverse(joined[i].begin(), joined[i].end());
    const size_t number = carried + i;
    const tensor::Element element = (number == 0 ? node.type : node.more_types[number - 1]).element;
    Values all = tensor::is_float(element) ? Values(std::vector<double>()) : Values(std::vector<int64_t>());
    for (const Values& part : joined[i])
      std::visit(
          [&](auto& list) {
            const auto& more = std::get<std::decay_t<decltype(list)>>(part);
            list.insert(list.end(), more.begin(), more.end());
          },
          all);
    results.push_back(std::move(all));
  }
  return results;
}

absl::StatusOr<std::vector<Values>> run_runtime_call(const Graph& graph, const Node& node,
                                                     const std::vector<Values>& operands) {
  if (const auto* branch = as<If>(node)) {
    const Region& taken = truth(operands[0]) ? branch->then_branch : branch->else_branch;
    return run(*taken, {operands.begin() + 1, operands.end()});
  }
  if (const auto* loop = as<Loop>(node)) return run_loop(graph, node, *loop, operands);
  return run_host_function(graph, node, operands);
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, std::vector<Values> inputs) : graph_(graph) {
    const std::vector<NodeId> wanted = graph.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) values_[wanted[i]] = std::move(inputs[i]);
  }

  absl::StatusOr<std::vector<Values>> run() {
    const std::vector<Group> groups = make_groups(graph_);
    size_t next = 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_runtime_call(graph_.nodes[i])) TF_RETURN_IF_ERROR(call(NodeId(i)));
      for (; next < groups.size() && groups[next].result() <= NodeId(i); ++next)
        TF_RETURN_IF_ERROR(kernel(groups[next]));
    }
    std::vector<Values> outputs;
    for (const Output& output : graph_.outputs) outputs.push_back(value(output.node));
    return outputs;
  }

 private:
  // Constants are read, and views followed, when they are asked for.
  const Values& value(NodeId id) {
    const NodeId asked = id;
    while (is_view(graph_.node(id)) && !values_.contains(id)) id = graph_.node(id).inputs[0];
    if (auto* known = as<Constant>(graph_.node(id)); known && !values_.contains(id))
      values_[id] = read_values(graph_.type(id).element, known->data->bytes());
    if (auto* result = as<Result>(graph_.node(id)); result && !values_.contains(id))
      values_[id] = further_.at({graph_.node(id).inputs[0], result->index});
    return asked == id ? values_.at(id) : values_[asked] = values_.at(id);
  }

  absl::Status call(NodeId id) {
    std::vector<Values> operands;
    for (NodeId input : graph_.node(id).inputs) operands.push_back(value(input));
    TF_ASSIGN_OR_RETURN(std::vector<Values> results, run_runtime_call(graph_, graph_.node(id), operands));
    values_[id] = std::move(results[0]);
    for (size_t k = 1; k < results.size(); ++k)
      further_[{id, static_cast<int64_t>(k)}] = std::move(results[k]);
    return absl::OkStatus();
  }

  absl::Status kernel(const Group& group) {
    TF_ASSIGN_OR_RETURN(const LoweredGroup lowered, lower_group(graph_, group));
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(lowered.workload, lowered.binding));
    if (const std::optional<GatherIndices> indices = indices_of(graph_, group)) {
      TF_RETURN_IF_ERROR(check_indices(graph_, group, std::get<std::vector<int64_t>>(value(indices->node))));
    }
    std::vector<Values> operands;
    for (NodeId id : lowered.inputs) operands.push_back(value(id));
    TF_ASSIGN_OR_RETURN(auto results, tensor::evaluate_exactly(bound, operands));
    values_[group.result()] = std::move(results[0]);
    return absl::OkStatus();
  }

  const Graph& graph_;
  std::map<NodeId, Values> values_;
  std::map<std::pair<NodeId, int64_t>, Values> further_;  // results by node and number
};

absl::StatusOr<std::vector<Values>> run(const Graph& graph, std::vector<Values> inputs) {
  return Evaluation(graph, std::move(inputs)).run();
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> evaluate(const Graph& graph, const std::vector<HostTensor>& inputs) {
  TF_RETURN_IF_ERROR(check_sizes_are_known(graph));
  TF_RETURN_IF_ERROR(check_inputs(graph, inputs));
  std::vector<Values> given;
  for (const HostTensor& input : inputs) given.push_back(read_values(input.element, input.data->bytes()));
  TF_ASSIGN_OR_RETURN(const std::vector<Values> results, run(graph, std::move(given)));
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType& type = graph.type(graph.outputs[i].node);
    outputs.push_back({graph.outputs[i].name, type.element, graph.shape(type),
                       std::make_shared<const Blob>(write_values(type.element, results[i]))});
  }
  return outputs;
}

}  // namespace tf::graph
