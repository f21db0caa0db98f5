// Operators of integers with scales, of domain com.microsoft. But for products they are computed in f32.
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/integer_products.h"
#include "compiler/frontends/onnx/quantization.h"
#include "compiler/frontends/onnx/rules/microsoft/attention.h"
#include "compiler/frontends/onnx/window.h"

namespace tf::onnx {
namespace {

using graph::ReduceKind;
using tensor::Element;
using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

constexpr Element kWide = Element::kFloat32;

// Operand i with its scale and zero point, the two that follow.
Term real_operand(Formula& f, int i) {
  const Term x = cast(f.input(i), kWide);
  return (f.has(i + 2) ? x - cast(f.input(i + 2), kWide) : x) * f.input(i + 1);
}

// y over operand `scale`, plus the operand behind it, as the elements of that or, without it, of `otherwise`.
Result stored(Formula& f, const Term& y, int scale, Element otherwise) {
  const Term q = y / f.input(scale);
  if (!f.ok()) return f.status();
  if (!f.has(scale + 1)) return to_integers(f.node(), q.id(), std::nullopt, {otherwise});
  const Term zero = f.input(scale + 1);
  if (!f.ok()) return f.status();
  return to_integers(f.node(), q.id(), zero.id(), {zero.element()});
}

template <graph::BinaryKind kKind>
Result qlinear_binary(NodeReader& node) {
  Formula f(node);
  return stored(f, binary(kKind, real_operand(f, 0), real_operand(f, 3)), 6, f.input(0).element());
}

Result qlinear_sigmoid(NodeReader& node) {
  Formula f(node);
  return stored(f, sigmoid(real_operand(f, 0)), 3, f.input(0).element());
}

Result qlinear_leaky_relu(NodeReader& node) {
  Formula f(node);
  const Term x = real_operand(f, 0);
  return stored(f, where(x < 0.0, x * f.attribute("alpha", 0.01), x), 3, f.input(0).element());
}

// Before operator set 13 of attribute `opset` all axes from `axis` on are one.
Result qlinear_softmax(NodeReader& node) {
  Formula f(node);
  const Term x = real_operand(f, 0);
  const bool flattens = f.attribute("opset", int64_t{13}) < 13;
  const int64_t axis = f.axis(f.attribute("axis", int64_t{flattens ? 1 : -1}), x.rank());
  if (!f.ok()) return f.status();
  const std::vector<tensor::Expr> extents = x.extents();
  const std::span<const tensor::Expr> all(extents);
  const auto at = static_cast<size_t>(axis);
  const std::vector<tensor::Expr> matrix = {product(all.first(at)), product(all.subspan(at))};
  const Term y = flattens ? reshape(softmax(reshape(x, matrix), 1), extents) : softmax(x, axis);
  return stored(f, y, 3, f.input(0).element());
}

Result qlinear_concat(NodeReader& node) {
  Formula f(node);
  std::vector<Term> parts;
  for (int i = 2; i + 1 < node.input_count(); i += 3) parts.push_back(real_operand(f, i));
  if (parts.empty()) return node.invalid("it has no operand");
  const int64_t axis = f.axis(f.attribute("axis", int64_t{0}), parts[0].rank());
  return stored(f, identity(concat(parts, axis)), 0, f.input(2).element());
}

// x with its channels as the second axis, and y with them as the last again, if the attribute says so.
Term channels_first(Formula& f, const Term& x, bool last) {
  if (!last || !f.ok()) return x;
  Ints perm = axes_between(0, x.rank());
  perm.pop_back();
  perm.insert(perm.begin() + 1, x.rank() - 1);
  return transpose(x, perm);
}
Term channels_last(Formula& f, const Term& y, bool last) {
  if (!last || !f.ok()) return y;
  Ints perm = axes_between(0, y.rank());
  perm.erase(perm.begin() + 1);
  perm.push_back(1);
  return transpose(y, perm);
}

Term pooled(Formula& f, const Term& x, graph::PoolKind kind) {
  if (f.attribute("ceil_mode", int64_t{0}) != 0) return f.unsupported("ceil_mode is not supported");
  const absl::StatusOr<Window> window = f.ok() ? read_window(f.node(), x.id(), {}) : f.status();
  if (!window.ok()) return f.fail(window.status());
  const bool include = f.attribute("count_include_pad", int64_t{0}) != 0;
  const std::array<Term, 1> operands = {x};
  return f.emit(graph::Pool{kind, window->kernel, window->strides, window->dilations, window->pads_begin,
                            window->pads_end, include},
                operands);
}

Result qlinear_average_pool(NodeReader& node) {
  Formula f(node);
  const bool last = f.attribute("channels_last", int64_t{0}) != 0;
  const Term y = pooled(f, channels_first(f, real_operand(f, 0), last), graph::PoolKind::kAverage);
  return stored(f, channels_last(f, y, last), 3, f.input(0).element());
}

Result nhwc_max_pool(NodeReader& node) {
  Formula f(node);
  return f.result(
      channels_last(f, pooled(f, channels_first(f, f.input(0), true), graph::PoolKind::kMax), true));
}

Result qlinear_global_average_pool(NodeReader& node) {
  Formula f(node);
  const Term x = real_operand(f, 0);
  if (f.ok() && x.rank() < 3) return node.invalid("needs an input with spatial axes");
  const bool last = f.attribute("channels_last", int64_t{0}) != 0;
  const Ints axes = last ? axes_between(1, x.rank() - 1) : axes_between(2, x.rank());
  return stored(f, reduce(ReduceKind::kMean, x, axes), 3, f.input(0).element());
}

// Σ (a - a_zero) * (b - b_zero), times both scales; b's may be one for each column.
absl::StatusOr<Term> scaled_product(Formula& f, const Factors& factors, const Term& a_scale,
                                    const Term& b_scale) {
  if (!f.ok()) return f.status();
  TF_ASSIGN_OR_RETURN(const NodeId sum, matmul_of(f.node(), factors));
  const int rank = f.node().rank(sum);
  TF_ASSIGN_OR_RETURN(const NodeId a, along(f.node(), a_scale.id(), rank, rank - 1));
  TF_ASSIGN_OR_RETURN(const NodeId b, along(f.node(), b_scale.id(), rank, rank - 1));
  return cast(f.term(sum), kWide) * (f.term(a) * f.term(b));
}

std::optional<NodeId> optional_operand(Formula& f, int i) {
  return f.has(i) ? std::optional(f.input(i).id()) : std::nullopt;
}

Result matmul_integer_to_float(NodeReader& node) {
  Formula f(node);
  const Factors factors{f.input(0).id(), f.input(1).id(), optional_operand(f, 4), optional_operand(f, 5)};
  TF_ASSIGN_OR_RETURN(Term y, scaled_product(f, factors, f.input(2), f.input(3)));
  if (f.has(6)) y = y + f.input(6);
  return f.result(y);
}

// The first factor is quantized at run time: 255 steps from its least to its greatest element, and zero.
Result dynamic_quantize_matmul(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  const Ints axes = axes_between(0, x.rank());
  const Term high = max(reduce(ReduceKind::kMax, x, axes, false), 0.0);
  const Term low = min(reduce(ReduceKind::kMin, x, axes, false), 0.0);
  const Term scale = where(equal(high, low), 1.0, (high - low) / 255.0), offset = -(low / scale),
             steps = x / scale;
  if (!f.ok()) return f.status();
  TF_ASSIGN_OR_RETURN(const NodeId zero, to_integers(node, offset.id(), std::nullopt, {Element::kUInt8}));
  TF_ASSIGN_OR_RETURN(const NodeId a, to_integers(node, steps.id(), zero, {Element::kUInt8}));
  TF_ASSIGN_OR_RETURN(
      Term y, scaled_product(f, {a, f.input(1).id(), zero, optional_operand(f, 3)}, scale, f.input(2)));
  if (f.has(4)) y = y + f.input(4);
  return f.result(y);
}

// Σ (a - a_zero) * (b - b_zero) + bias, times both scales and alpha; quantized again if operand 7 is there.
Result qgemm(NodeReader& node) {
  Formula f(node);
  const graph::MatMul op{f.attribute("transA", int64_t{0}) != 0, f.attribute("transB", int64_t{0}) != 0};
  const double alpha = f.attribute("alpha", 1.0);
  if (!f.ok() || f.input(0).rank() != 2 || f.input(3).rank() != 2) return node.invalid("needs two matrices");
  const Factors factors{f.input(0).id(), f.input(3).id(), optional_operand(f, 2), optional_operand(f, 5)};
  TF_ASSIGN_OR_RETURN(const NodeId product, matmul_of(node, factors, op));
  Term sum = f.term(product);
  if (f.has(6)) sum = sum + f.input(6);
  const Term b_scale = f.input(4);
  if (!f.ok()) return f.status();
  TF_ASSIGN_OR_RETURN(const NodeId scale, along(node, b_scale.id(), 2, 1));
  const Term y = cast(sum, kWide) * (f.input(1) * f.term(scale) * alpha);
  return f.has(7) ? stored(f, y, 7, Element::kUInt8) : f.result(y);
}

Result qlinear_where(NodeReader& node) {
  Formula f(node);
  return stored(f, where(f.input(0), real_operand(f, 1), real_operand(f, 4)), 7, f.input(1).element());
}

Result qattention(NodeReader& node) {
  Formula f(node);
  if (f.has(8)) return node.unsupported("past keys and values are not supported");
  const Factors factors{f.input(0).id(), f.input(1).id(), optional_operand(f, 6), optional_operand(f, 7)};
  TF_ASSIGN_OR_RETURN(const Term projected, scaled_product(f, factors, f.input(3), f.input(4)));
  PackedAttention packed{.projected = projected + f.input(2)};
  if (f.has(5)) packed.mask = f.input(5);
  return f.result(packed_attention(f, packed));
}

constexpr std::array kMicrosoftQuantizedRules = {
    NamedRule{"com.microsoft.DynamicQuantizeMatMul", dynamic_quantize_matmul},
    NamedRule{"com.microsoft.MatMulIntegerToFloat", matmul_integer_to_float},
    NamedRule{"com.microsoft.NhwcMaxPool", nhwc_max_pool},
    NamedRule{"com.microsoft.QAttention", qattention},
    NamedRule{"com.microsoft.QGemm", qgemm},
    NamedRule{"com.microsoft.QLinearAdd", qlinear_binary<graph::BinaryKind::kAdd>},
    NamedRule{"com.microsoft.QLinearAveragePool", qlinear_average_pool},
    NamedRule{"com.microsoft.QLinearConcat", qlinear_concat},
    NamedRule{"com.microsoft.QLinearGlobalAveragePool", qlinear_global_average_pool},
    NamedRule{"com.microsoft.QLinearLeakyRelu", qlinear_leaky_relu},
    NamedRule{"com.microsoft.QLinearMul", qlinear_binary<graph::BinaryKind::kMul>},
    NamedRule{"com.microsoft.QLinearSigmoid", qlinear_sigmoid},
    NamedRule{"com.microsoft.QLinearSoftmax", qlinear_softmax},
    NamedRule{"com.microsoft.QLinearWhere", qlinear_where}};

}  // namespace

std::span<const NamedRule> microsoft_quantized_rules() {
  return kMicrosoftQuantizedRules;
}

}  // namespace tf::onnx
