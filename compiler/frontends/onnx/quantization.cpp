#include "compiler/frontends/onnx/quantization.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;

std::optional<Ints> known_integers(NodeReader& node, NodeId id) {
  const auto* known = as<Constant>(node.graph().node(id));
  if (!known || tensor::is_float(node.type(id).element)) return std::nullopt;
  return read_integers(node.type(id).element, known->data->bytes());
}

bool all_zero(NodeReader& node, std::optional<NodeId> x) {
  if (!x) return true;
  const std::optional<Ints> known = known_integers(node, *x);
  return known && std::ranges::all_of(*known, [](int64_t v) { return v == 0; });
}

bool is_one_number(NodeReader& node, NodeId x) {
  const Ints shape = node.graph().shape(x);
  return std::ranges::all_of(shape, [](int64_t extent) { return extent == 1; });
}

bool is_byte(Element element) {
  return element == Element::kInt8 || element == Element::kUInt8;
}

absl::Status check_quantized(NodeReader& node, Element element) {
  if (is_byte(element)) return absl::OkStatus();
  return node.unsupported(absl::StrCat("quantized elements of ", std::string(tensor::element_name(element)),
                                       " are not supported; use int8 or uint8"));
}

Result binary(NodeReader& node, BinaryKind kind, NodeId a, NodeId b) {
  return node.emit(Binary{kind}, {a, b});
}

Result along(NodeReader& node, NodeId x, int rank, int64_t axis) {
  const Ints shape = node.graph().shape(x);
  if (shape.empty()) return x;
  if (shape.size() > 1)
    return node.unsupported(absl::StrCat("its scales or zero points are ", to_string(node.type(x)),
                                         "; one number or one for each element of an axis is supported"));
  if (shape[0] == 1) return node.emit(Reshape{{}}, {x});
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, rank));
  std::vector<tensor::Expr> extents(static_cast<size_t>(rank), tensor::imm(1));
  extents[static_cast<size_t>(axis)] = tensor::imm(shape[0]);
  return node.emit(Reshape{std::move(extents)}, {x});
}

Result to_integers(NodeReader& node, NodeId x, std::optional<NodeId> zero, Element element) {
  TF_RETURN_IF_ERROR(check_quantized(node, element));
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Unary{UnaryKind::kRound}, {x}));
  if (!all_zero(node, zero)) {
    TF_ASSIGN_OR_RETURN(NodeId real, node.cast_to(Element::kFloat32, *zero));
    TF_ASSIGN_OR_RETURN(y, binary(node, BinaryKind::kAdd, y, real));
  }
  const bool is_signed = element == Element::kInt8;
  TF_ASSIGN_OR_RETURN(y, node.emit(is_signed ? Clip{-128, 127} : Clip{0, 255}, {y}));
  return node.emit(Cast{element}, {y});
}

}  // namespace tf::onnx
