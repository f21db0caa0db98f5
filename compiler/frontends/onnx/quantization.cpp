#include "compiler/frontends/onnx/quantization.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
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

std::pair<double, double> range_of(const StoredElement& stored) {
  const int bits = stored.four_bits ? 4 : 8 * tensor::element_bytes(stored.element);
  if (tensor::is_unsigned(stored.element)) return {0, std::ldexp(1, bits) - 1};
  return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
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

Result to_integers(NodeReader& node, NodeId x, std::optional<NodeId> zero, const StoredElement& stored) {
  if (tensor::is_float(stored.element) || stored.element == Element::kBool ||
      tensor::element_bytes(stored.element) > 2)
    return node.unsupported(absl::StrCat("quantized elements of ",
                                         std::string(tensor::element_name(stored.element)),
                                         " are not supported; use integers of 4, 8 or 16 bits"));
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Unary{UnaryKind::kRound}, {x}));
  if (!all_zero(node, zero)) {
    TF_ASSIGN_OR_RETURN(NodeId real, node.cast_to(Element::kFloat32, *zero));
    TF_ASSIGN_OR_RETURN(y, binary(node, BinaryKind::kAdd, y, real));
  }
  const auto [low, high] = range_of(stored);
  TF_ASSIGN_OR_RETURN(y, node.emit(Clip{low, high}, {y}));
  TF_ASSIGN_OR_RETURN(y, node.emit(Cast{stored.element}, {y}));
  if (stored.four_bits) node.set_four_bits(y);
  return y;
}

Result over_blocks(NodeReader& node, NodeId scale, NodeId x, int64_t axis, int64_t block) {
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(x)));
  const Ints shape = node.graph().shape(x), blocks = node.graph().shape(scale);
  Ints want = shape;
  want[static_cast<size_t>(axis)] = ceil_div(shape[static_cast<size_t>(axis)], block);
  if (blocks != want)
    return node.invalid(absl::StrCat("scales or zero points are ", to_string(node.type(scale)),
                                     ", not one for each block of ", block, " along axis ", axis, " of ",
                                     to_string(node.type(x))));
  const auto extents_of = [](const Ints& extents) { return tensor_type(Element::kFloat32, extents).extents; };
  Ints wide = blocks;
  wide.insert(wide.begin() + axis + 1, 1);
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Reshape{extents_of(wide)}, {scale}));
  wide[static_cast<size_t>(axis) + 1] = block;
  TF_ASSIGN_OR_RETURN(y, node.emit(Expand{extents_of(wide)}, {y}));
  Ints joined = blocks;
  joined[static_cast<size_t>(axis)] *= block;
  TF_ASSIGN_OR_RETURN(y, node.emit(Reshape{extents_of(joined)}, {y}));
  if (joined == shape) return y;
  return node.emit(Slice{{axis}, {0}, {shape[static_cast<size_t>(axis)]}, {1}}, {y});
}

}  // namespace tf::onnx
