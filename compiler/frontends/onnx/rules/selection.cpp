// Operators that sort and select.
#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/found.h"
#include "compiler/graph/infer_host.h"
#include "compiler/graph/passes/select.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

absl::StatusOr<NodeId> top_k(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TopK op;
  TF_ASSIGN_OR_RETURN(const int64_t axis, node.int_attribute("axis", -1));
  TF_ASSIGN_OR_RETURN(op.axis, node.axis(axis, node.rank(x)));
  if (node.opset() < 10) {
    TF_ASSIGN_OR_RETURN(op.k, node.int_attribute("k", -1));
  } else {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> k, node.constant_ints(1, "k"));
    if (k.size() != 1) return node.invalid(absl::StrCat("k has ", k.size(), " elements, not one"));
    op.k = k[0];
  }
  TF_ASSIGN_OR_RETURN(const int64_t largest, node.int_attribute("largest", 1));
  op.largest = largest != 0;
  TF_ASSIGN_OR_RETURN(const NodeId values, node.emit(op, {x}));
  TF_ASSIGN_OR_RETURN(const NodeId indices, node.result(values, 1));
  node.set_output(1, indices);
  return values;
}

// The value of a node, if it is known now.
std::optional<HostTensor> known(NodeReader& node, NodeId id) {
  const auto* constant = as<Constant>(node.graph().node(id));
  if (!constant) return std::nullopt;
  return HostTensor{"", node.type(id).element, node.graph().shape(id), constant->data};
}

bool find_the_same(const NonZero&, const NonZero&) {
  return true;
}
bool find_the_same(const Unique& a, const Unique& b) {
  return a.axis == b.axis && a.sorted == b.sorted;
}
bool find_the_same(const NonMaxSuppression& a, const NonMaxSuppression& b) {
  return a.centered == b.centered && a.scored == b.scored;
}

// A node of the operator, which finds a dimension of its own. Exporters write a node for each use of a mask: the same
// operator on the same operands is one node, or the sizes of what a mask selects would not be known to be equal.
template <typename O>
absl::StatusOr<NodeId> emit_finding(NodeReader& node, O op, const std::vector<NodeId>& operands) {
  Graph& graph = node.graph();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* other = as<O>(graph.nodes[i]);
    if (other && graph.nodes[i].inputs == operands && find_the_same(op, *other)) return NodeId(i);
  }
  TF_ASSIGN_OR_RETURN(op.found, node.found_dimension(most_found(graph, Node{"", op, operands, {}, {}})));
  return node.emit(op, operands);
}

// Gives the node's outputs these values; the first output's.
absl::StatusOr<NodeId> give_values(NodeReader& node, absl::StatusOr<std::vector<HostTensor>> values) {
  if (!values.ok()) return node.error_of(values.status());
  NodeId first{};
  for (size_t i = 0; i < values->size(); ++i) {
    HostTensor& value = (*values)[i];
    TF_RETURN_IF_ERROR(node.count_made(static_cast<int64_t>(value.data->bytes().size())));
    const NodeId id = node.graph().add_constant(tensor_type(value.element, value.shape),
                                                std::move(value.data), node.name());
    if (i == 0) first = id;
    if (i > 0 && node.has_output(static_cast<int>(i))) node.set_output(static_cast<int>(i), id);
  }
  return first;
}

// Gathers the places where the condition holds.
absl::StatusOr<NodeId> compress(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId condition, node.input(1));
  if (node.type(condition).element != tensor::Element::kBool || node.rank(condition) != 1)
    return node.invalid("its condition is not bool of rank 1");
  int64_t axis = 0;
  if (node.has_attribute("axis")) {
    TF_ASSIGN_OR_RETURN(const int64_t given, node.int_attribute("axis", 0));
    TF_ASSIGN_OR_RETURN(axis, node.axis(given, node.rank(x)));
  } else {
    TF_ASSIGN_OR_RETURN(x, node.emit(Reshape{{product(node.type(x).extents)}}, {x}));
  }
  const int64_t extent = node.graph().shape(x)[static_cast<size_t>(axis)];
  if (node.graph().shape(condition)[0] > extent) {
    TF_ASSIGN_OR_RETURN(condition, node.emit(Slice{{0}, {0}, {extent}, {1}}, {condition}));
  }
  if (const auto value = known(node, condition)) {
    const std::string_view bytes = value->data->bytes();
    std::vector<int64_t> chosen;
    for (size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != 0) chosen.push_back(static_cast<int64_t>(i));
    return node.emit(Gather{axis}, {x, node.ints(chosen)});
  }
  TF_ASSIGN_OR_RETURN(const NodeId places, emit_finding(node, NonZero{}, {condition}));
  TF_ASSIGN_OR_RETURN(const NodeId list, node.emit(Reshape{{node.type(places).extents[1]}}, {places}));
  return node.emit(Gather{axis}, {x, list});
}

absl::StatusOr<NodeId> nonzero(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  if (const auto value = known(node, x)) return give_values(node, nonzero_of(*value));
  return emit_finding(node, NonZero{}, {x});
}

absl::StatusOr<NodeId> unique(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t sorted, node.int_attribute("sorted", 1));
  int64_t axis = -1;
  if (node.has_attribute("axis")) {
    TF_ASSIGN_OR_RETURN(const int64_t given, node.int_attribute("axis", 0));
    TF_ASSIGN_OR_RETURN(axis, node.axis(given, node.rank(x)));
  }
  if (const auto value = known(node, x)) return give_values(node, unique_of(*value, axis, sorted != 0));
  TF_ASSIGN_OR_RETURN(const NodeId all, emit_finding(node, Unique{axis, sorted != 0, nullptr}, {x}));
  for (int i = 1; i < node.output_count(); ++i) {
    if (!node.has_output(i)) continue;
    TF_ASSIGN_OR_RETURN(const NodeId result, node.result(all, i));
    node.set_output(i, result);
  }
  return all;
}

// An operand of one element; 0 if it is not there.
absl::StatusOr<NodeId> one_element(NodeReader& node, int i, tensor::Element element) {
  if (node.has(i)) return node.input(i);
  const std::vector<int64_t> shape = {1};
  return node.graph().add_constant(
      tensor_type(element, shape),
      std::make_shared<const Blob>(std::string(tensor::element_bytes(element), '\0')), node.name());
}

absl::StatusOr<NodeId> non_max_suppression(NodeReader& node) {
  using tensor::Element;
  TF_ASSIGN_OR_RETURN(const int64_t centered, node.int_attribute("center_point_box", 0));
  if (centered != 0 && centered != 1) return node.invalid("its center_point_box is neither 0 nor 1");
  std::vector<NodeId> operands(5);
  TF_ASSIGN_OR_RETURN(operands[0], node.input(0));
  TF_ASSIGN_OR_RETURN(operands[1], node.input(1));
  TF_ASSIGN_OR_RETURN(operands[2], one_element(node, 2, Element::kInt64));
  TF_ASSIGN_OR_RETURN(operands[3], one_element(node, 3, Element::kFloat32));
  TF_ASSIGN_OR_RETURN(operands[4], one_element(node, 4, Element::kFloat32));
  const NonMaxSuppression op{centered != 0, node.has(4), nullptr};
  if (absl::Status status = check_non_max_suppression(node.graph(), operands); !status.ok())
    return node.error_of(status);
  std::vector<HostTensor> values;
  for (const NodeId operand : operands)
    if (auto value = known(node, operand)) values.push_back(*std::move(value));
  if (values.size() == operands.size())
    return give_values(node, non_max_suppression_of(values, op.centered, op.scored));
  return emit_finding(node, op, operands);
}

constexpr std::array kSelectionRules = {
    NamedRule{"Compress", compress}, NamedRule{"NonMaxSuppression", non_max_suppression},
    NamedRule{"NonZero", nonzero}, NamedRule{"TopK", top_k}, NamedRule{"Unique", unique}};

}  // namespace

std::span<const NamedRule> selection_rules() {
  return kSelectionRules;
}

}  // namespace tf::onnx
