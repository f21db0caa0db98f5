// Quantized tensors: a stored integer q stands for scale * (q - zero point). Products are sums of integers,
// exact in i32, then scaled; ONNX's operator documentation says the same for each operator here.
#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/integer_products.h"
#include "compiler/frontends/onnx/quantization.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;

constexpr Element kReal = Element::kFloat32;

absl::StatusOr<std::optional<NodeId>> optional_input(NodeReader& node, int i) {
  if (!node.has(i)) return std::nullopt;
  TF_ASSIGN_OR_RETURN(NodeId id, node.input(i));
  return id;
}

// What QuantizeLinear and DequantizeLinear both take.
struct ScaledOperands {
  NodeId x, scale;
  std::optional<NodeId> zero;
  int64_t axis;   // along which scales and zero points stand
  int64_t block;  // for how many elements of it each; 0: for one, or all
};
// In a shape that broadcasts to x's.
Result spread(NodeReader& node, const ScaledOperands& operands, NodeId scale) {
  if (operands.block > 0) return over_blocks(node, scale, operands.x, operands.axis, operands.block);
  return along(node, scale, node.rank(operands.x), operands.axis);
}
absl::StatusOr<ScaledOperands> scaled_operands(NodeReader& node) {
  ScaledOperands operands;
  TF_ASSIGN_OR_RETURN(operands.x, node.input(0));
  TF_ASSIGN_OR_RETURN(operands.scale, node.input(1));
  TF_ASSIGN_OR_RETURN(operands.zero, optional_input(node, 2));
  TF_ASSIGN_OR_RETURN(operands.axis, node.int_attribute("axis", 1));
  TF_ASSIGN_OR_RETURN(operands.block, node.int_attribute("block_size", 0));
  if (operands.block < 0) return node.invalid("attribute 'block_size' is negative");
  return operands;
}

// Of the zero point, or without one of the attribute.
absl::StatusOr<StoredElement> stored_element(NodeReader& node, std::optional<NodeId> zero) {
  TF_ASSIGN_OR_RETURN(const int64_t wanted, node.int_attribute("output_dtype", 0));
  if (zero) return StoredElement{node.type(*zero).element, node.has_four_bits(*zero)};
  if (wanted == 0) return StoredElement{Element::kUInt8};
  const absl::StatusOr<Element> element = element_from_onnx(static_cast<int32_t>(wanted));
  if (!element.ok())
    return node.unsupported(absl::StrCat("attribute 'output_dtype': ", element.status().message()));
  return StoredElement{*element, is_four_bits(static_cast<int32_t>(wanted))};
}

Result quantize_linear(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ScaledOperands operands, scaled_operands(node));
  auto [x, scale, zero, axis, block] = operands;
  TF_ASSIGN_OR_RETURN(const int64_t precision, node.int_attribute("precision", 0));
  if (precision > 1)
    return node.unsupported("attribute 'precision' of other types than f32 is not supported");
  TF_ASSIGN_OR_RETURN(const StoredElement stored, stored_element(node, zero));
  TF_ASSIGN_OR_RETURN(x, node.cast_to(kReal, x));
  TF_ASSIGN_OR_RETURN(scale, node.cast_to(kReal, scale));
  TF_ASSIGN_OR_RETURN(scale, spread(node, operands, scale));
  if (zero) {
    TF_ASSIGN_OR_RETURN(zero, spread(node, operands, *zero));
  }
  TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kDiv, x, scale));
  return to_integers(node, x, zero, stored);
}

Result dequantize_linear(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ScaledOperands operands, scaled_operands(node));
  auto [x, scale, zero, axis, block] = operands;
  TF_ASSIGN_OR_RETURN(const int64_t output, node.int_attribute("output_dtype", 0));
  Element element = node.type(scale).element;
  if (output != 0) {
    const absl::StatusOr<Element> wanted = element_from_onnx(static_cast<int32_t>(output));
    if (!wanted.ok())
      return node.unsupported(absl::StrCat("attribute 'output_dtype': ", wanted.status().message()));
    element = *wanted;
  }
  const Dequantized from{x, scale, zero, axis};
  // The difference is a whole number that every float of 16 bits or more holds, but for i32 without zero
  // point.
  TF_ASSIGN_OR_RETURN(x, node.cast_to(kReal, x));
  if (!all_zero(node, zero)) {
    TF_ASSIGN_OR_RETURN(NodeId real, node.cast_to(kReal, *zero));
    TF_ASSIGN_OR_RETURN(real, spread(node, operands, real));
    TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kSub, x, real));
  }
  TF_ASSIGN_OR_RETURN(scale, node.cast_to(kReal, scale));
  TF_ASSIGN_OR_RETURN(scale, spread(node, operands, scale));
  TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kMul, x, scale));
  TF_ASSIGN_OR_RETURN(x, node.cast_to(element, x));
  if (element == kReal && block == 0) node.set_dequantized(x, from);
  return x;
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
  TF_ASSIGN_OR_RETURN(factor, node.cast_to(kReal, factor));
  TF_ASSIGN_OR_RETURN(NodeId y, node.cast_to(kReal, sum));
  TF_ASSIGN_OR_RETURN(y, binary(node, BinaryKind::kMul, y, factor));
  return to_integers(node, y, zero, {element});
}

absl::StatusOr<Factors> factors(NodeReader& node, int a, int a_zero, int b, int b_zero) {
  TF_ASSIGN_OR_RETURN(NodeId first, node.input(a));
  TF_ASSIGN_OR_RETURN(NodeId second, node.input(b));
  TF_RETURN_IF_ERROR(check_quantized(node, node.type(first).element));
  TF_RETURN_IF_ERROR(check_quantized(node, node.type(second).element));
  TF_ASSIGN_OR_RETURN(std::optional<NodeId> first_zero, optional_input(node, a_zero));
  TF_ASSIGN_OR_RETURN(std::optional<NodeId> second_zero, optional_input(node, b_zero));
  return Factors{first, second, first_zero, second_zero, 0};
}

// Of domain com.microsoft, x and y may have their channels last; the weights are the same.
Result qlinear_conv(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(Factors f, factors(node, 0, 2, 3, 5));
  TF_ASSIGN_OR_RETURN(const int64_t channels_last, node.int_attribute("channels_last", 0));
  Ints perm(static_cast<size_t>(node.rank(f.a)));
  std::iota(perm.begin(), perm.end(), 0);
  if (channels_last != 0 && perm.size() > 2) {
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
    TF_ASSIGN_OR_RETURN(f.a, node.emit(Transpose{perm}, {f.a}));
    std::ranges::sort(perm);
    std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  }
  TF_ASSIGN_OR_RETURN(NodeId sum, conv_of(node, f));
  if (node.has(8)) {
    TF_ASSIGN_OR_RETURN(NodeId bias, node.input(8));
    TF_ASSIGN_OR_RETURN(bias, along(node, bias, node.rank(sum), 1));
    TF_ASSIGN_OR_RETURN(sum, binary(node, BinaryKind::kAdd, sum, bias));
  }
  TF_ASSIGN_OR_RETURN(const NodeId y, requantized(node, sum, {1, 4, 6, 7}, 1));
  return channels_last != 0 ? node.emit(Transpose{perm}, {y}) : y;
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
  TF_ASSIGN_OR_RETURN(zero, to_integers(node, zero, std::nullopt, {Element::kUInt8}));
  node.set_output(1, scale);
  node.set_output(2, zero);
  TF_ASSIGN_OR_RETURN(x, binary(node, BinaryKind::kDiv, x, scale));
  return to_integers(node, x, zero, {Element::kUInt8});
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
  TF_ASSIGN_OR_RETURN(sum, node.cast_to(kReal, sum));
  return binary(node, BinaryKind::kMul, sum, factor);
}

constexpr std::array kQuantizedRules = {NamedRule{"ConvInteger", conv_integer},
                                        NamedRule{"DequantizeLinear", dequantize_linear},
                                        NamedRule{"DynamicQuantizeLinear", dynamic_quantize_linear},
                                        NamedRule{"MatMulInteger", matmul_integer},
                                        NamedRule{"QLinearConv", qlinear_conv},
                                        NamedRule{"QLinearMatMul", qlinear_matmul},
                                        NamedRule{"QuantizeLinear", quantize_linear},
                                        NamedRule{"com.microsoft.DequantizeLinear", dequantize_linear},
                                        NamedRule{"com.microsoft.QLinearConv", qlinear_conv},
                                        NamedRule{"com.microsoft.QuantizeLinear", quantize_linear}};

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
  return kQuantizedRules;
}

}  // namespace tf::onnx
