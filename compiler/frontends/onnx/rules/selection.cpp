// Operators that sort and select.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
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

// The value of an operand that the size of the result depends on.
absl::StatusOr<HostTensor> known_operand(NodeReader& node, int i) {
  TF_ASSIGN_OR_RETURN(const NodeId id, node.input(i));
  const auto* constant = as<Constant>(node.graph().node(id));
  if (!constant)
    return node.unsupported(absl::StrCat("the size of its result depends on the values of operand ", i,
                                         ", which must be a constant"));
  return HostTensor{"", node.type(id).element, node.graph().shape(id), constant->data};
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

// The chosen places are known, so this gathers them.
absl::StatusOr<NodeId> compress(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const HostTensor condition, known_operand(node, 1));
  if (condition.element != tensor::Element::kBool || condition.shape.size() != 1)
    return node.invalid("its condition is not bool of rank 1");
  int64_t axis = 0;
  if (node.has_attribute("axis")) {
    TF_ASSIGN_OR_RETURN(const int64_t given, node.int_attribute("axis", 0));
    TF_ASSIGN_OR_RETURN(axis, node.axis(given, node.rank(x)));
  } else {
    TF_ASSIGN_OR_RETURN(x, node.emit(Reshape{{product(node.type(x).extents)}}, {x}));
  }
  const int64_t extent = node.graph().shape(x)[static_cast<size_t>(axis)];
  const std::string_view bytes = condition.data->bytes();
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < std::min(extent, condition.shape[0]); ++i)
    if (bytes[static_cast<size_t>(i)] != 0) chosen.push_back(i);
  return node.emit(Gather{axis}, {x, node.ints(chosen)});
}

absl::StatusOr<NodeId> nonzero(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const HostTensor x, known_operand(node, 0));
  return give_values(node, nonzero_of(x));
}

absl::StatusOr<NodeId> unique(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const HostTensor x, known_operand(node, 0));
  TF_ASSIGN_OR_RETURN(const int64_t sorted, node.int_attribute("sorted", 1));
  int64_t axis = -1;
  if (node.has_attribute("axis")) {
    TF_ASSIGN_OR_RETURN(const int64_t given, node.int_attribute("axis", 0));
    TF_ASSIGN_OR_RETURN(axis, node.axis(given, static_cast<int>(x.shape.size())));
  }
  return give_values(node, unique_of(x, axis, sorted != 0));
}

// An operand of one element; 0 if it is not there.
absl::StatusOr<HostTensor> one_element(NodeReader& node, int i, tensor::Element element) {
  if (!node.has(i))
    return HostTensor{
        "", element, {1}, std::make_shared<const Blob>(std::string(tensor::element_bytes(element), '\0'))};
  TF_ASSIGN_OR_RETURN(HostTensor value, known_operand(node, i));
  if (value.element != element ||
      value.data->bytes().size() != static_cast<size_t>(tensor::element_bytes(element)))
    return node.invalid(
        absl::StrCat("operand ", i, " is not one ", std::string(tensor::element_name(element))));
  return value;
}

absl::StatusOr<NodeId> non_max_suppression(NodeReader& node) {
  using tensor::Element;
  TF_ASSIGN_OR_RETURN(const int64_t centered, node.int_attribute("center_point_box", 0));
  if (centered != 0 && centered != 1) return node.invalid("its center_point_box is neither 0 nor 1");
  std::vector<HostTensor> operands(5);
  TF_ASSIGN_OR_RETURN(operands[0], known_operand(node, 0));
  TF_ASSIGN_OR_RETURN(operands[1], known_operand(node, 1));
  TF_ASSIGN_OR_RETURN(operands[2], one_element(node, 2, Element::kInt64));
  TF_ASSIGN_OR_RETURN(operands[3], one_element(node, 3, Element::kFloat32));
  TF_ASSIGN_OR_RETURN(operands[4], one_element(node, 4, Element::kFloat32));
  const HostTensor &boxes = operands[0], &scores = operands[1];
  if (boxes.element != Element::kFloat32 || boxes.shape.size() != 3 || boxes.shape[2] != 4 ||
      scores.element != Element::kFloat32 || scores.shape.size() != 3 || scores.shape[0] != boxes.shape[0] ||
      scores.shape[2] != boxes.shape[1])
    return node.invalid("boxes and scores are not f32 [batches, boxes, 4] and f32 [batches, classes, boxes]");
  return give_values(node, non_max_suppression_of(operands, centered != 0, node.has(4)));
}

constexpr std::array kSelectionRules = {
    NamedRule{"Compress", compress}, NamedRule{"NonMaxSuppression", non_max_suppression},
    NamedRule{"NonZero", nonzero}, NamedRule{"TopK", top_k}, NamedRule{"Unique", unique}};

}  // namespace

std::span<const NamedRule> selection_rules() {
  return kSelectionRules;
}

}  // namespace tf::onnx
