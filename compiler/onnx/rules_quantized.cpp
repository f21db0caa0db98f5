// Quantized tensors: a stored integer q stands for scale * (q - zero point). Products are sums of integers,
// exact in i32, then scaled; ONNX's operator documentation says the same for each operator here.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/onnx/node_reader.h"
#include "compiler/onnx/window.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;

constexpr Element kReal = Element::kFloat32;

// The values of a constant of integers; nothing for what is computed at run time.
std::optional<Ints> known_integers(NodeReader& node, NodeId id) {
  const auto* known = as<Constant>(node.graph().node(id));
  if (!known || tensor::is_float(node.type(id).element)) return std::nullopt;
  return read_integers(node.type(id).element, known->data->bytes());
}

NodeId integers(NodeReader& node, Element element, const std::vector<int64_t>& shape, const Ints& values) {
  return node.graph().add_constant(tensor_type(element, shape),
                                   std::make_shared<const Blob>(write_integers(element, values)),
                                   node.name());
}

Result cast(NodeReader& node, NodeId x, Element element) {
  return node.type(x).element == element ? Result(x) : node.emit(Cast{element}, {x});
}

Result binary(NodeReader& node, BinaryKind kind, NodeId a, NodeId b) {
  return node.emit(Binary{kind}, {a, b});
}

// A scale or zero point, one number or one for each element of `axis`, in a shape that broadcasts along it in
// a tensor of that rank.
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

bool all_zero(NodeReader& node, std::optional<NodeId> x) {
  if (!x) return true;
  const std::optional<Ints> known = known_integers(node, *x);
  return known && std::ranges::all_of(*known, [](int64_t v) { return v == 0; });
}

absl::StatusOr<std::optional<NodeId>> optional_input(NodeReader& node, int i) {
  if (!node.has(i)) return std::nullopt;
  TF_ASSIGN_OR_RETURN(NodeId id, node.input(i));
  return id;
}

struct Range {
  double low, high;
};
absl::StatusOr<Range> range_of(NodeReader& node, Element element) {
  if (element == Element::kInt8) return Range{-128, 127};
  if (element == Element::kUInt8) return Range{0, 255};
  return node.unsupported(absl::StrCat("quantized elements of ", std::string(tensor::element_name(element)),
                                       " are not supported; int8 and uint8 are"));
}

// x, already divided by the scale → the nearest integers (ties to even) plus the zero point, at the ends of
// the element's range where beyond.
Result to_integers(NodeReader& node, NodeId x, std::optional<NodeId> zero, Element element) {
  TF_ASSIGN_OR_RETURN(const Range range, range_of(node, element));
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Unary{UnaryKind::kRound}, {x}));
  if (!all_zero(node, zero)) {
    TF_ASSIGN_OR_RETURN(NodeId real, cast(node, *zero, kReal));
    TF_ASSIGN_OR_RETURN(y, binary(node, BinaryKind::kAdd, y, real));
  }
  TF_ASSIGN_OR_RETURN(y, node.emit(Clip{range.low, range.high}, {y}));
  return node.emit(Cast{element}, {y});
}

absl::Status check_blocks(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const int64_t block, node.int_attribute("block_size", 0));
  return block == 0 ? absl::OkStatus() : node.unsupported("scales for blocks of an axis are not supported");
}

// What QuantizeLinear and DequantizeLinear both take.
struct ScaledOperands {
  NodeId x, scale;
  std::optional<NodeId> zero;
  int64_t axis;  // along which scales and zero points stand
};
absl::StatusOr<ScaledOperands> scaled_operands(NodeReader& node) {
  TF_RETURN_IF_ERROR(check_blocks(node));
  ScaledOperands operands;
  TF_ASSIGN_OR_RETURN(operands.x, node.input(0));
  TF_ASSIGN_OR_RETURN(operands.scale, node.input(1));
  TF_ASSIGN_OR_RETURN(operands.zero, optional_input(node, 2));
  TF_ASSIGN_OR_RETURN(operands.axis, node.int_attribute("axis", 1));
  return operands;
}

Result quantize_linear(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ScaledOperands operands, scaled_operands(node));
  auto [x, scale, zero, axis] = operands;
  if (node.has_attribute("output_dtype") && !zero)
    return node.unsupported(
        "output_dtype without a zero point is not supported: give a zero point of that type");
  const Element element = zero ? node.type(*zero).element : Element::kUInt8;
  TF_ASSIGN_OR_RETURN(x, cast(node, x, kReal));
  TF_ASSIGN_OR_RETURN(scale, cast(node, scale, kReal));
  TF_ASSIGN_OR_RETURN(scale, along(node, scale, node.rank(x), axis));
  if (zero) {
    TF_ASSIGN_OR_RETURN(zero, along(node, *zero, node.rank(x), axis));
  }
  TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kDiv, x, scale));
  return to_integers(node, x, zero, element);
}

Result dequantize_linear(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ScaledOperands operands, scaled_operands(node));
  auto [x, scale, zero, axis] = operands;
  const Element element = node.type(scale).element;
  const int rank = node.rank(x);
  const Dequantized from{x, scale, zero, axis};
  // The difference is a whole number that every float of 16 bits or more holds, but for i32 without zero
  // point.
  TF_ASSIGN_OR_RETURN(x, cast(node, x, kReal));
  if (!all_zero(node, zero)) {
    TF_ASSIGN_OR_RETURN(NodeId real, cast(node, *zero, kReal));
    TF_ASSIGN_OR_RETURN(real, along(node, real, rank, axis));
    TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kSub, x, real));
  }
  TF_ASSIGN_OR_RETURN(scale, cast(node, scale, kReal));
  TF_ASSIGN_OR_RETURN(scale, along(node, scale, rank, axis));
  TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kMul, x, scale));
  TF_ASSIGN_OR_RETURN(x, cast(node, x, element));
  if (element == kReal) node.set_dequantized(x, from);
  return x;
}

// What a product is made of: Σ (a - a_zero) * (b - b_zero), in i32.
struct Factors {
  NodeId a, b;
  std::optional<NodeId> a_zero, b_zero;
  int64_t b_axis = 0;  // along which b's zero points stand
};

// b without its zero point: as bytes where it is known and fits, else as i32.
Result without_zero(NodeReader& node, const Factors& f) {
  if (all_zero(node, f.b_zero)) return f.b;
  const std::optional<Ints> zero = known_integers(node, *f.b_zero);
  std::optional<Ints> values = zero ? known_integers(node, f.b) : std::nullopt;
  const Ints shape = node.graph().shape(f.b);
  if (values) {
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(f.b_axis) + 1; d < shape.size(); ++d) inner *= shape[d];
    const auto count = static_cast<int64_t>(zero->size());
    if (count != 1 && count != shape[static_cast<size_t>(f.b_axis)])
      return node.invalid(absl::StrCat(count, " zero points for ", to_string(node.type(f.b))));
    for (size_t i = 0; i < values->size(); ++i)
      (*values)[i] -= (*zero)[static_cast<size_t>(static_cast<int64_t>(i) / inner % count)];
    const auto [low, high] =
        values->empty() ? std::ranges::min_max_result<int64_t>{0, 0} : std::ranges::minmax(*values);
    const Element element = low >= -128 && high <= 127 ? Element::kInt8
                            : low >= 0 && high <= 255  ? Element::kUInt8
                                                       : Element::kInt32;
    return integers(node, element, shape, *values);
  }
  TF_ASSIGN_OR_RETURN(NodeId b, cast(node, f.b, Element::kInt32));
  TF_ASSIGN_OR_RETURN(NodeId shift, cast(node, *f.b_zero, Element::kInt32));
  TF_ASSIGN_OR_RETURN(shift, along(node, shift, node.rank(b), f.b_axis));
  return binary(node, BinaryKind::kSub, b, shift);
}

bool is_byte(Element element) {
  return element == Element::kInt8 || element == Element::kUInt8;
}

Result sum_of_weights(NodeReader& node, NodeId b, const Ints& axes) {
  TF_ASSIGN_OR_RETURN(NodeId wide, cast(node, b, Element::kInt32));
  return node.emit(Reduce{ReduceKind::kSum, axes, true}, {wide});
}

// sum - zero * weights
Result corrected(NodeReader& node, NodeId sum, NodeId zero, NodeId weights) {
  TF_ASSIGN_OR_RETURN(zero, cast(node, zero, Element::kInt32));
  TF_ASSIGN_OR_RETURN(const NodeId moved, binary(node, BinaryKind::kMul, weights, zero));
  return binary(node, BinaryKind::kSub, sum, moved);
}

// Both factors as i32, without their zero points: for what bytes cannot hold.
absl::StatusOr<std::pair<NodeId, NodeId>> widened(NodeReader& node, const Factors& f, NodeId b) {
  TF_ASSIGN_OR_RETURN(NodeId a, cast(node, f.a, Element::kInt32));
  if (!all_zero(node, f.a_zero)) {
    TF_ASSIGN_OR_RETURN(NodeId zero, cast(node, *f.a_zero, Element::kInt32));
    TF_ASSIGN_OR_RETURN(a, binary(node, BinaryKind::kSub, a, zero));
  }
  TF_ASSIGN_OR_RETURN(b, cast(node, b, Element::kInt32));
  return std::pair(a, b);
}

// a's zero points are one number, or one a row (of an a that is not transposed): those of rank 1 are made a
// column.
Result matmul_of(NodeReader& node, Factors f, const MatMul& op = {}) {
  if (node.rank(f.a) < 2 || node.rank(f.b) < 2)
    return node.unsupported("operands of rank 1 are not supported");
  const int64_t terms = node.rank(f.b) - (op.transpose_b ? 1 : 2);
  f.b_axis = node.rank(f.b) - (op.transpose_b ? 2 : 1);
  if (f.a_zero) {
    TF_ASSIGN_OR_RETURN(f.a_zero, along(node, *f.a_zero, node.rank(f.a), node.rank(f.a) - 2));
  }
  TF_ASSIGN_OR_RETURN(NodeId b, without_zero(node, f));
  if (!is_byte(node.type(b).element)) {
    TF_ASSIGN_OR_RETURN(const auto both, widened(node, f, b));
    return node.emit(op, {both.first, both.second});
  }
  TF_ASSIGN_OR_RETURN(NodeId sum, node.emit(op, {f.a, b}));
  if (all_zero(node, f.a_zero)) return sum;
  TF_ASSIGN_OR_RETURN(NodeId weights, sum_of_weights(node, b, {terms}));
  if (op.transpose_b) {  // a column, which is to be a row
    std::vector<tensor::Expr> extents = node.type(weights).extents;
    std::swap(extents[extents.size() - 2], extents.back());
    TF_ASSIGN_OR_RETURN(weights, node.emit(Reshape{std::move(extents)}, {weights}));
  }
  return corrected(node, sum, *f.a_zero, weights);
}

// Padding stands for zero, which is stored as a's zero point.
Result conv_of(NodeReader& node, const Factors& f) {
  const Ints shape = node.graph().shape(f.b);
  if (shape.size() < 3) return node.invalid(absl::StrCat("weights ", to_string(node.type(f.b))));
  TF_ASSIGN_OR_RETURN(const Window window, read_window(node, f.a, Ints(shape.begin() + 2, shape.end())));
  Conv op{window.strides, window.dilations, window.pads_begin, window.pads_end, 1};
  TF_ASSIGN_OR_RETURN(op.groups, node.int_attribute("group", 1));
  TF_ASSIGN_OR_RETURN(NodeId b, without_zero(node, f));
  const std::optional<Ints> zero = f.a_zero ? known_integers(node, *f.a_zero) : std::optional(Ints{0});
  if (!is_byte(node.type(b).element) || !zero || zero->size() != 1) {
    TF_ASSIGN_OR_RETURN(const auto both, widened(node, f, b));
    return node.emit(op, {both.first, both.second});
  }
  NodeId a = f.a;
  const auto pads = [](const Ints& list) {
    return std::ranges::any_of(list, [](int64_t p) { return p != 0; });
  };
  if ((*zero)[0] != 0 && (pads(op.pads_begin) || pads(op.pads_end))) {
    Pad pad{{0, 0}, {0, 0}, static_cast<double>((*zero)[0])};
    pad.begin.insert(pad.begin.end(), op.pads_begin.begin(), op.pads_begin.end());
    pad.end.insert(pad.end.end(), op.pads_end.begin(), op.pads_end.end());
    TF_ASSIGN_OR_RETURN(a, node.emit(pad, {a}));
    op.pads_begin.assign(op.pads_begin.size(), 0);
    op.pads_end.assign(op.pads_end.size(), 0);
  }
  TF_ASSIGN_OR_RETURN(NodeId sum, node.emit(op, {a, b}));
  if ((*zero)[0] == 0) return sum;
  Ints axes;
  for (int64_t d = 1; d < static_cast<int64_t>(shape.size()); ++d) axes.push_back(d);
  TF_ASSIGN_OR_RETURN(NodeId weights, sum_of_weights(node, b, axes));
  std::vector<tensor::Expr> extents(shape.size(), tensor::imm(1));
  extents[1] = tensor::imm(shape[0]);
  TF_ASSIGN_OR_RETURN(weights, node.emit(Reshape{std::move(extents)}, {weights}));
  return corrected(node, sum, node.scalar(static_cast<double>((*zero)[0]), Element::kInt32), weights);
}

// sum * (a_scale * b_scale / y_scale), rounded to y's elements. Operands: the scales' numbers.
struct Scales {
  int a, b, y, y_zero;
};
Result requantized(NodeReader& node, NodeId sum, const Scales& at, int64_t b_axis) {
  const int rank = node.rank(sum);
  TF_ASSIGN_OR_RETURN(NodeId a_scale, node.input(at.a));
  TF_ASSIGN_OR_RETURN(NodeId b_scale, node.input(at.b));
  TF_ASSIGN_OR_RETURN(NodeId y_scale, node.input(at.y));
  TF_ASSIGN_OR_RETURN(NodeId zero, node.input(at.y_zero));
  // Scales of rows of a stand along the last axis but one.
  TF_ASSIGN_OR_RETURN(a_scale, along(node, a_scale, rank, rank - 2));
  TF_ASSIGN_OR_RETURN(b_scale, along(node, b_scale, rank, b_axis));
  TF_ASSIGN_OR_RETURN(y_scale, along(node, y_scale, rank, rank - 2));
  const Element element = node.type(zero).element;
  TF_ASSIGN_OR_RETURN(zero, along(node, zero, rank, rank - 2));
  TF_ASSIGN_OR_RETURN(NodeId factor, binary(node, BinaryKind::kMul, a_scale, b_scale));
  TF_ASSIGN_OR_RETURN(factor, binary(node, BinaryKind::kDiv, factor, y_scale));
  TF_ASSIGN_OR_RETURN(factor, cast(node, factor, kReal));
  TF_ASSIGN_OR_RETURN(NodeId y, cast(node, sum, kReal));
  TF_ASSIGN_OR_RETURN(y, binary(node, BinaryKind::kMul, y, factor));
  return to_integers(node, y, zero, element);
}

absl::StatusOr<Factors> factors(NodeReader& node, int a, int a_zero, int b, int b_zero) {
  TF_ASSIGN_OR_RETURN(NodeId first, node.input(a));
  TF_ASSIGN_OR_RETURN(NodeId second, node.input(b));
  TF_RETURN_IF_ERROR(range_of(node, node.type(first).element).status());
  TF_RETURN_IF_ERROR(range_of(node, node.type(second).element).status());
  TF_ASSIGN_OR_RETURN(std::optional<NodeId> first_zero, optional_input(node, a_zero));
  TF_ASSIGN_OR_RETURN(std::optional<NodeId> second_zero, optional_input(node, b_zero));
  return Factors{first, second, first_zero, second_zero, 0};
}

Result qlinear_conv(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Factors f, factors(node, 0, 2, 3, 5));
  TF_ASSIGN_OR_RETURN(NodeId sum, conv_of(node, f));
  if (node.has(8)) {
    TF_ASSIGN_OR_RETURN(NodeId bias, node.input(8));
    TF_ASSIGN_OR_RETURN(bias, along(node, bias, node.rank(sum), 1));
    TF_ASSIGN_OR_RETURN(sum, binary(node, BinaryKind::kAdd, sum, bias));
  }
  return requantized(node, sum, {1, 4, 6, 7}, 1);
}

Result qlinear_matmul(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Factors f, factors(node, 0, 2, 3, 5));
  TF_ASSIGN_OR_RETURN(const NodeId sum, matmul_of(node, f));
  return requantized(node, sum, {1, 4, 6, 7}, node.rank(sum) - 1);
}

Result conv_integer(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Factors f, factors(node, 0, 2, 1, 3));
  return conv_of(node, f);
}

Result matmul_integer(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Factors f, factors(node, 0, 2, 1, 3));
  return matmul_of(node, f);
}

// scale = (max - min) / 255 over x and 0, zero point = -min / scale, all of them at run time.
Result dynamic_quantize_linear(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  Ints axes;
  for (int64_t d = 0; d < node.rank(x); ++d) axes.push_back(d);
  const NodeId nothing = node.scalar(0, kReal);
  TF_ASSIGN_OR_RETURN(NodeId high, node.emit(Reduce{ReduceKind::kMax, axes, false}, {x}));
  TF_ASSIGN_OR_RETURN(high, binary(node, BinaryKind::kMax, high, nothing));
  TF_ASSIGN_OR_RETURN(NodeId low, node.emit(Reduce{ReduceKind::kMin, axes, false}, {x}));
  TF_ASSIGN_OR_RETURN(low, binary(node, BinaryKind::kMin, low, nothing));
  TF_ASSIGN_OR_RETURN(NodeId scale, binary(node, BinaryKind::kSub, high, low));
  TF_ASSIGN_OR_RETURN(scale, binary(node, BinaryKind::kDiv, scale, node.scalar(255, kReal)));
  // All zeros: any scale will do but none.
  TF_ASSIGN_OR_RETURN(const NodeId flat, binary(node, BinaryKind::kEqual, high, low));
  TF_ASSIGN_OR_RETURN(scale, node.emit(Where{}, {flat, node.scalar(1, kReal), scale}));
  TF_ASSIGN_OR_RETURN(NodeId zero, binary(node, BinaryKind::kDiv, low, scale));
  TF_ASSIGN_OR_RETURN(zero, node.emit(Unary{UnaryKind::kNeg}, {zero}));
  TF_ASSIGN_OR_RETURN(zero, to_integers(node, zero, std::nullopt, Element::kUInt8));
  node.set_output(1, scale);
  node.set_output(2, zero);
  TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kDiv, x, scale));
  return to_integers(node, x, zero, Element::kUInt8);
}

bool is_one_number(NodeReader& node, NodeId x) {
  const Ints shape = node.graph().shape(x);
  return std::ranges::all_of(shape, [](int64_t extent) { return extent == 1; });
}

// Real factors that integers can stand for: weights known, one scale and known zero point of the other.
struct ScaledFactors {
  Factors factors;
  NodeId a_scale, b_scale;
};
enum class Channels : uint8_t { kFirst, kLast };  // axis of b, along which its scales may stand
absl::StatusOr<std::optional<ScaledFactors>> scaled_factors(NodeReader& node, Channels along) {
  if (!node.has(0) || !node.has(1)) return std::nullopt;
  TF_ASSIGN_OR_RETURN(const NodeId first, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId second, node.input(1));
  const Dequantized *a = node.find_dequantized(first), *b = node.find_dequantized(second);
  if (a == nullptr || b == nullptr || node.rank(first) < 2 || node.rank(second) < 2) return std::nullopt;
  const bool bytes = is_byte(node.type(a->values).element) && is_byte(node.type(b->values).element);
  if (!bytes || !known_integers(node, b->values) || !is_one_number(node, a->scale)) return std::nullopt;
  if (a->zero && (!known_integers(node, *a->zero) || !is_one_number(node, *a->zero))) return std::nullopt;
  if (b->zero && !known_integers(node, *b->zero)) return std::nullopt;
  const int64_t channels = along == Channels::kFirst ? 0 : node.rank(second) - 1;
  TF_ASSIGN_OR_RETURN(const int64_t axis, node.axis(b->axis, node.rank(second)));
  const bool several = !is_one_number(node, b->scale) || (b->zero && !is_one_number(node, *b->zero));
  if (several && axis != channels) return std::nullopt;
  return ScaledFactors{{a->values, b->values, a->zero, b->zero, channels}, a->scale, b->scale};
}

// sum * (a_scale * b_scale), whose channels stand along `axis`.
Result scaled(NodeReader& node, NodeId sum, const ScaledFactors& f, int64_t axis) {
  TF_ASSIGN_OR_RETURN(const NodeId a_scale, along(node, f.a_scale, node.rank(sum), axis));
  TF_ASSIGN_OR_RETURN(const NodeId b_scale, along(node, f.b_scale, node.rank(sum), axis));
  TF_ASSIGN_OR_RETURN(const NodeId factor, binary(node, BinaryKind::kMul, a_scale, b_scale));
  TF_ASSIGN_OR_RETURN(sum, cast(node, sum, kReal));
  return binary(node, BinaryKind::kMul, sum, factor);
}

constexpr std::array kRules = {NamedRule{"ConvInteger", conv_integer},
                               NamedRule{"DequantizeLinear", dequantize_linear},
                               NamedRule{"DynamicQuantizeLinear", dynamic_quantize_linear},
                               NamedRule{"MatMulInteger", matmul_integer},
                               NamedRule{"QLinearConv", qlinear_conv},
                               NamedRule{"QLinearMatMul", qlinear_matmul},
                               NamedRule{"QuantizeLinear", quantize_linear}};

}  // namespace

absl::StatusOr<std::optional<NodeId>> conv_of_dequantized(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const std::optional<ScaledFactors> f, scaled_factors(node, Channels::kFirst));
  if (!f) return std::nullopt;
  TF_ASSIGN_OR_RETURN(const NodeId sum, conv_of(node, f->factors));
  TF_ASSIGN_OR_RETURN(NodeId y, scaled(node, sum, *f, 1));
  if (!node.has(2)) return y;
  TF_ASSIGN_OR_RETURN(NodeId bias, node.input(2));
  TF_ASSIGN_OR_RETURN(bias, along(node, bias, node.rank(y), 1));
  TF_ASSIGN_OR_RETURN(y, binary(node, BinaryKind::kAdd, y, bias));
  return y;
}

absl::StatusOr<std::optional<NodeId>> matmul_of_dequantized(NodeReader& node, const MatMul& op) {
  TF_ASSIGN_OR_RETURN(const std::optional<ScaledFactors> f,
                      scaled_factors(node, op.transpose_b ? Channels::kFirst : Channels::kLast));
  if (!f) return std::nullopt;
  TF_ASSIGN_OR_RETURN(const NodeId sum, matmul_of(node, f->factors, op));
  TF_ASSIGN_OR_RETURN(const NodeId y, scaled(node, sum, *f, node.rank(sum) - 1));
  return y;
}

std::span<const NamedRule> quantized_rules() {
  return kRules;
}

}  // namespace tf::onnx
