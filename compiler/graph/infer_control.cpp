#include "compiler/graph/infer_control.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/infer_checks.h"

namespace tf::graph {
namespace {

// Extents as numbers: the regions' dimensions are the graph's.
TensorType numbered(const Graph& graph, const TensorType& type) {
  return tensor_type(type.element, graph.shape(type));
}

bool same(const Graph& a, const TensorType& x, const Graph& b, const TensorType& y) {
  return x.element == y.element && a.shape(x) == b.shape(y);
}

// Whether the region takes operands of these types.
absl::Status check_inputs(const Graph& region, std::string_view what, const Graph& graph,
                          const std::vector<TensorType>& given) {
  const std::vector<NodeId> wanted = region.inputs();
  const absl::string_view name(what.data(), what.size());
  if (wanted.size() != given.size())
    return refusal(name, " has ", wanted.size(), " inputs, but ", given.size(), " are given");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!same(region, region.type(wanted[i]), graph, given[i]))
      return refusal("input ", i, " of ", name, " is ", to_string(region.type(wanted[i])), ", but ",
                     to_string(given[i]), " is given");
  }
  return absl::OkStatus();
}

absl::Status check_single(const Graph& graph, NodeId node, tensor::Element element, std::string_view what) {
  const TensorType& type = graph.type(node);
  TF_ASSIGN_OR_RETURN(const int64_t count, element_count(graph.shape(type)));
  if (type.element == element && count == 1) return absl::OkStatus();
  return refusal("its ", absl::string_view(what.data(), what.size()), " is ", to_string(type),
                 ", not one element of ", std::string(tensor::element_name(element)));
}

std::vector<TensorType> types_of(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<TensorType> types;
  for (NodeId node : nodes) types.push_back(graph.type(node));
  return types;
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> infer_if(const Graph& graph, const If& op,
                                                 std::span<const NodeId> inputs) {
  if (!op.then_branch || !op.else_branch) return refusal("a branch is missing");
  TF_RETURN_IF_ERROR(check_single(graph, inputs[0], tensor::Element::kBool, "condition"));
  const std::vector<TensorType> given = types_of(graph, inputs.subspan(1));
  TF_RETURN_IF_ERROR(check_inputs(*op.then_branch, "the then-branch", graph, given));
  TF_RETURN_IF_ERROR(check_inputs(*op.else_branch, "the else-branch", graph, given));
  const Graph &a = *op.then_branch, &b = *op.else_branch;
  if (a.outputs.size() != b.outputs.size())
    return refusal("its branches have ", a.outputs.size(), " and ", b.outputs.size(), " results");
  if (a.outputs.empty()) return refusal("its branches have no result");
  std::vector<TensorType> types;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const TensorType &x = a.type(a.outputs[i].node), &y = b.type(b.outputs[i].node);
    if (!same(a, x, b, y))
      return refusal("result ", i, " is ", to_string(x), " in one branch and ", to_string(y),
                     " in the other");
    types.push_back(numbered(a, x));
  }
  return types;
}

absl::StatusOr<std::vector<TensorType>> infer_loop(const Graph& graph, const Loop& op,
                                                   std::span<const NodeId> inputs) {
  if (!op.body) return refusal("it has no body");
  const size_t first = op.conditional ? 2 : 1;
  if (op.carried < 0 || op.scanned < 0 ||
      inputs.size() < first + static_cast<size_t>(op.carried) + static_cast<size_t>(op.scanned))
    return refusal("it has too few operands");
  TF_RETURN_IF_ERROR(check_single(graph, inputs[0], tensor::Element::kInt64, "number of trips"));
  if (op.conditional) TF_RETURN_IF_ERROR(check_single(graph, inputs[1], tensor::Element::kBool, "condition"));
  std::optional<int64_t> trips;
  if (const auto* known = as<Constant>(graph.node(inputs[0])))
    trips = read_integers(tensor::Element::kInt64, known->data->bytes())[0];
  const std::span<const NodeId> values = inputs.subspan(first);
  std::vector<TensorType> given = types_of(graph, values);
  given.insert(given.begin(), TensorType{tensor::Element::kInt64, {}});
  const auto carried = static_cast<size_t>(op.carried), scanned = static_cast<size_t>(op.scanned);
  for (size_t i = 1 + carried; i < 1 + carried + scanned; ++i) {
    if (given[i].rank() == 0) return refusal("scans a scalar");
    const int64_t slices = graph.value(given[i].extents[0]);
    if (!trips || *trips > slices)
      return refusal("scans ", to_string(given[i]), ", which does not have a slice for each trip");
    given[i].extents.erase(given[i].extents.begin());
  }
  const Graph& body = *op.body;
  TF_RETURN_IF_ERROR(check_inputs(body, "the body", graph, given));
  const size_t conditions = op.conditional ? 1 : 0;
  if (body.outputs.size() < conditions + carried)
    return refusal("its body has ", body.outputs.size(), " results");
  if (op.conditional)
    TF_RETURN_IF_ERROR(check_single(body, body.outputs[0].node, tensor::Element::kBool, "condition"));
  std::vector<TensorType> types;
  for (size_t i = conditions; i < body.outputs.size(); ++i) {
    TensorType type = numbered(body, body.type(body.outputs[i].node));
    const size_t k = i - conditions;
    if (k < carried) {
      if (!same(body, type, graph, given[1 + k]))
        return refusal("carries ", to_string(given[1 + k]), " into an iteration and ", to_string(type),
                       " out of it");
    } else {
      if (!trips || op.conditional) return refusal("joins slices of an unknown number of iterations");
      type.extents.insert(type.extents.begin(), tensor::imm(std::max<int64_t>(*trips, 0)));
    }
    types.push_back(std::move(type));
  }
  if (types.empty()) return refusal("it has no result");
  if (op.backward.size() != scanned + types.size() - carried)
    return refusal("has ", op.backward.size(),
                   " directions, not one for each scanned operand and joined result");
  return types;
}

}  // namespace tf::graph
