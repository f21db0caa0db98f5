// Element-wise operators that become one graph operator, or a few.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

template <UnaryKind kKind>
Result unary(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  return node.emit(Unary{kKind}, {x});
}

struct Pair {
  NodeId a, b;
};
absl::StatusOr<Pair> operands(NodeReader& node) {
  Formula f(node);
  const auto [a, b] = binary_operands(f);
  if (!f.ok()) return f.status();
  return Pair{a.id(), b.id()};
}

template <BinaryKind kKind>
Result binary(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Pair pair, operands(node));
  return node.emit(Binary{kKind}, {pair.a, pair.b});
}

// a > b is b < a.
template <BinaryKind kKind>
Result swapped(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Pair pair, operands(node));
  return node.emit(Binary{kKind}, {pair.b, pair.a});
}

// Any number of operands, folded from the left.
template <BinaryKind kKind>
Result variadic(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const std::vector<NodeId> inputs, node.inputs());
  if (inputs.empty()) return node.invalid("it has no operand");
  NodeId sum = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    TF_ASSIGN_OR_RETURN(sum, node.emit(Binary{kKind}, {sum, inputs[i]}));
  }
  return inputs.size() > 1 ? Result(sum) : node.emit(Unary{UnaryKind::kIdentity}, {sum});
}

// The sum of all operands. Three or more halves are summed in f32, so that a sum in between does not overflow
// or lose digits.
Result sum_of_operands(NodeReader& node, bool widens) {
  TF_ASSIGN_OR_RETURN(std::vector<NodeId> inputs, node.inputs());
  if (inputs.empty()) return node.invalid("it has no operand");
  for (NodeId& input : inputs) {
    if (!widens) break;
    TF_ASSIGN_OR_RETURN(input, node.widened(input));
  }
  NodeId sum = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    TF_ASSIGN_OR_RETURN(sum, node.emit(Binary{BinaryKind::kAdd}, {sum, inputs[i]}));
  }
  return sum;
}

Result sum(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId first, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId total, sum_of_operands(node, node.input_count() > 2));
  if (node.input_count() == 1) return node.emit(Unary{UnaryKind::kIdentity}, {total});
  return node.cast_to(node.type(first).element, total);
}

Result mean(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId first, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId total, sum_of_operands(node, true));
  TF_ASSIGN_OR_RETURN(const std::vector<NodeId> inputs, node.inputs());
  const NodeId count = node.scalar(static_cast<double>(inputs.size()), node.type(total).element);
  TF_ASSIGN_OR_RETURN(const NodeId mean, node.emit(Binary{BinaryKind::kDiv}, {total, count}));
  return node.cast_to(node.type(first).element, mean);
}

// Whether all elements are known and whole: then a power of whole numbers is exact.
bool is_known_whole(NodeReader& node, NodeId id) {
  const auto* known = as<Constant>(node.graph().node(id));
  if (known == nullptr) return false;
  const std::vector<double> values = read_floats(node.type(id).element, known->data->bytes());
  return std::ranges::all_of(values, [](double v) { return v == std::trunc(v) && std::fabs(v) < 0x1p63; });
}

// The element in which a base is raised to an exponent, of which both are converted to it: i64 for whole
// numbers, f64 for a whole base and a fraction; otherwise the base's, but f32 for a half with an exponent of
// another type.
tensor::Element power_element(NodeReader& node, NodeId base, NodeId exponent) {
  const tensor::Element of_base = node.type(base).element, of_exponent = node.type(exponent).element;
  if (tensor::is_float(of_base)) {
    if (of_base == of_exponent || tensor::element_bytes(of_base) > 2) return of_base;
    return tensor::Element::kFloat32;
  }
  const bool whole = !tensor::is_float(of_exponent) || is_known_whole(node, exponent);
  return whole ? tensor::Element::kInt64 : tensor::Element::kFloat64;
}

// An exponent of u64 as one that i64 holds: powers modulo 2^64 repeat after 2^62 from the 64th on.
Result within_signed(NodeReader& node, NodeId exponent) {
  constexpr double kPeriod = 0x1p62;
  Formula f(node);
  const Term e = f.term(exponent);
  return f.result(min(e, e - (e / kPeriod) * kPeriod + kPeriod));
}

// The result has the base's type, whatever the exponent's.
Result pow(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(Pair pair, operands(node));
  const tensor::Element given = node.type(pair.a).element;
  if (given == tensor::Element::kBool || node.type(pair.b).element == tensor::Element::kBool)
    return node.invalid("it needs numbers, not bool");
  const tensor::Element element = power_element(node, pair.a, pair.b);
  if (element == tensor::Element::kInt64 && node.type(pair.b).element == tensor::Element::kUInt64) {
    TF_ASSIGN_OR_RETURN(pair.b, within_signed(node, pair.b));
  }
  TF_ASSIGN_OR_RETURN(pair.a, node.cast_to(element, pair.a));
  TF_ASSIGN_OR_RETURN(pair.b, node.cast_to(element, pair.b));
  TF_ASSIGN_OR_RETURN(const NodeId power, node.emit(Binary{BinaryKind::kPow}, {pair.a, pair.b}));
  return node.cast_to(given, power);
}

bool is_known(NodeReader& node, int i) {
  const absl::StatusOr<NodeId> bound =
      node.has(i) ? node.input(i) : absl::StatusOr<NodeId>(absl::NotFoundError(""));
  return !bound.ok() || as<Constant>(node.graph().node(*bound)) != nullptr;
}

// With bounds that a double might not hold, or that are known at run time only: min(max(x, low), high).
Result clip_by_operands(NodeReader& node, NodeId x) {
  for (int i = 1; i <= 2; ++i) {
    if (!node.has(i)) continue;
    TF_ASSIGN_OR_RETURN(const NodeId bound, node.input(i));
    TF_ASSIGN_OR_RETURN(const int64_t count, element_count(node.graph().shape(bound)));
    if (count != 1 || node.rank(bound) > node.rank(x)) return node.invalid("a bound is not a single number");
    TF_ASSIGN_OR_RETURN(x, node.emit(Binary{i == 1 ? BinaryKind::kMax : BinaryKind::kMin}, {x, bound}));
  }
  return node.has(1) || node.has(2) ? Result(x) : node.emit(Unary{UnaryKind::kIdentity}, {x});
}

Result clip(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  const bool has_numbers = tensor::is_float(node.type(x).element) && is_known(node, 1) && is_known(node, 2);
  if (node.opset() >= 11 && !has_numbers) return clip_by_operands(node, x);
  Clip op{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if (node.opset() < 11) {
    TF_ASSIGN_OR_RETURN(op.low, node.float_attribute("min", op.low));
    TF_ASSIGN_OR_RETURN(op.high, node.float_attribute("max", op.high));
  }
  for (int i = 1; node.opset() >= 11 && i <= 2; ++i) {
    if (!node.has(i)) continue;
    TF_ASSIGN_OR_RETURN(const std::vector<double> bound, node.constant_floats(i, "bound"));
    if (bound.size() != 1) return node.invalid("a bound is not a single number");
    (i == 1 ? op.low : op.high) = bound[0];
  }
  return node.emit(op, {x});
}

Result leaky_relu(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const double alpha, node.float_attribute("alpha", 0.01));
  return node.emit(LeakyRelu{alpha}, {x});
}

// x < 0: slope * x. Before operator set 7 a slope stands along axis 1, one for each channel.
Result prelu(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId slope, node.input(1));
  const size_t rank = node.type(x).extents.size();
  if (node.opset() < 7 && node.type(slope).extents.size() == 1 && rank > 2) {
    std::vector<tensor::Expr> along(rank - 1, tensor::imm(1));
    along[0] = node.type(slope).extents[0];
    TF_ASSIGN_OR_RETURN(slope, node.emit(Reshape{std::move(along)}, {slope}));
  }
  TF_ASSIGN_OR_RETURN(NodeId below, node.emit(Binary{BinaryKind::kMul}, {x, slope}));
  TF_ASSIGN_OR_RETURN(NodeId is_below,
                      node.emit(Binary{BinaryKind::kLess}, {x, node.scalar(0, node.type(x).element)}));
  return node.emit(Where{}, {is_below, below, x});
}

// min(max(alpha * x + beta, 0), 1)
Result hard_sigmoid_of(NodeReader& node, NodeId x, double alpha, double beta) {
  const tensor::Element element = node.type(x).element;
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Binary{BinaryKind::kMul}, {x, node.scalar(alpha, element)}));
  TF_ASSIGN_OR_RETURN(y, node.emit(Binary{BinaryKind::kAdd}, {y, node.scalar(beta, element)}));
  return node.emit(Clip{0, 1}, {y});
}
Result hard_sigmoid(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const double alpha, node.float_attribute("alpha", 0.2));
  TF_ASSIGN_OR_RETURN(const double beta, node.float_attribute("beta", 0.5));
  return hard_sigmoid_of(node, x, alpha, beta);
}
Result hard_swish(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId gate, hard_sigmoid_of(node, x, 1.0 / 6, 0.5));
  return node.emit(Binary{BinaryKind::kMul}, {x, gate});
}

// x above zero, else alpha * (exp(x) - 1), which keeps the sign of zeros and all bits of small x.
Result elu(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const double alpha, node.float_attribute("alpha", 1.0));
  const tensor::Element element = node.type(x).element;
  TF_ASSIGN_OR_RETURN(NodeId below, node.emit(Unary{UnaryKind::kExpm1}, {x}));
  if (alpha != 1) {
    TF_ASSIGN_OR_RETURN(below, node.emit(Binary{BinaryKind::kMul}, {below, node.scalar(alpha, element)}));
  }
  TF_ASSIGN_OR_RETURN(NodeId is_above, node.emit(Binary{BinaryKind::kLess}, {node.scalar(0, element), x}));
  return node.emit(Where{}, {is_above, x, below});
}

// log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor loses a small exp.
Result softplus(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId above, node.emit(Unary{UnaryKind::kRelu}, {x}));
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Unary{UnaryKind::kAbs}, {x}));
  TF_ASSIGN_OR_RETURN(y, node.emit(Unary{UnaryKind::kNeg}, {y}));
  TF_ASSIGN_OR_RETURN(y, node.emit(Unary{UnaryKind::kExp}, {y}));
  TF_ASSIGN_OR_RETURN(y, node.emit(Unary{UnaryKind::kLog1p}, {y}));
  return node.emit(Binary{BinaryKind::kAdd}, {above, y});
}

Result softsign(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Unary{UnaryKind::kAbs}, {x}));
  TF_ASSIGN_OR_RETURN(y, node.emit(Binary{BinaryKind::kAdd}, {y, node.scalar(1, node.type(x).element)}));
  return node.emit(Binary{BinaryKind::kDiv}, {x, y});
}

// x / 2 * (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) * (x + 0.044715 x³)) in erf's place.
Result gelu(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const std::string approximate, node.string_attribute("approximate", "none"));
  const tensor::Element element = node.type(x).element;
  const auto times = [&](NodeId a, double factor) {
    return node.emit(Binary{BinaryKind::kMul}, {a, node.scalar(factor, element)});
  };
  NodeId gate{};
  if (approximate == "none") {
    TF_ASSIGN_OR_RETURN(gate, times(x, 0.70710678118654752));
    TF_ASSIGN_OR_RETURN(gate, node.emit(Unary{UnaryKind::kErf}, {gate}));
  } else if (approximate == "tanh") {
    TF_ASSIGN_OR_RETURN(NodeId cube, node.emit(Binary{BinaryKind::kMul}, {x, x}));
    TF_ASSIGN_OR_RETURN(cube, node.emit(Binary{BinaryKind::kMul}, {cube, x}));
    TF_ASSIGN_OR_RETURN(cube, times(cube, 0.044715));
    TF_ASSIGN_OR_RETURN(gate, node.emit(Binary{BinaryKind::kAdd}, {x, cube}));
    TF_ASSIGN_OR_RETURN(gate, times(gate, 0.79788456080286536));
    TF_ASSIGN_OR_RETURN(gate, node.emit(Unary{UnaryKind::kTanh}, {gate}));
  } else {
    return node.invalid(absl::StrCat("attribute 'approximate' is '", approximate, "'"));
  }
  TF_ASSIGN_OR_RETURN(gate, node.emit(Binary{BinaryKind::kAdd}, {gate, node.scalar(1, element)}));
  TF_ASSIGN_OR_RETURN(NodeId half, times(x, 0.5));
  return node.emit(Binary{BinaryKind::kMul}, {half, gate});
}

// A NaN alone is unequal to itself.
Result is_nan(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  if (!tensor::is_float(node.type(x).element))
    return node.invalid(absl::StrCat("it needs floating point, not ", to_string(node.type(x))));
  TF_ASSIGN_OR_RETURN(const NodeId equal, node.emit(Binary{BinaryKind::kEqual}, {x, x}));
  return node.emit(Unary{UnaryKind::kNot}, {equal});
}

Result where(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(std::vector<NodeId> inputs, node.inputs());
  return node.emit(Where{}, std::move(inputs));
}

// To int4 or uint4: the nearest, or of whole numbers the four lowest bits, which are the elements of i8 or u8.
Result cast_to_four_bits(NodeReader& node, tensor::Element element) {
  Formula f(node);
  const bool is_signed = element == tensor::Element::kInt8;
  Term x = f.input(0);
  if (x.is_float()) {
    x = cast(min(max(round(x), is_signed ? -8.0 : 0.0), is_signed ? 7.0 : 15.0), element);
  } else {
    const Term low = binary(BinaryKind::kBitAnd, cast(x, element), 15.0);
    x = is_signed ? binary(BinaryKind::kBitXor, low, 8.0) - 8.0 : low;
  }
  const absl::StatusOr<NodeId> y = f.result(x);
  if (y.ok()) node.set_four_bits(*y);
  return y;
}

Result cast(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const int64_t to, node.int_attribute("to", 0));
  absl::StatusOr<tensor::Element> element = element_from_onnx(static_cast<int32_t>(to));
  if (!element.ok()) return node.unsupported(absl::StrCat("attribute 'to': ", element.status().message()));
  if (is_four_bits(static_cast<int32_t>(to))) return cast_to_four_bits(node, *element);
  return node.emit(Cast{*element}, {x});
}

constexpr std::array kArithmeticRules = {NamedRule{"Abs", unary<UnaryKind::kAbs>},
                                         NamedRule{"Add", binary<BinaryKind::kAdd>},
                                         NamedRule{"And", binary<BinaryKind::kAnd>},
                                         NamedRule{"Cast", cast},
                                         NamedRule{"Ceil", unary<UnaryKind::kCeil>},
                                         NamedRule{"Clip", clip},
                                         NamedRule{"Cos", unary<UnaryKind::kCos>},
                                         NamedRule{"Div", binary<BinaryKind::kDiv>},
                                         NamedRule{"Elu", elu},
                                         NamedRule{"Equal", binary<BinaryKind::kEqual>},
                                         NamedRule{"Erf", unary<UnaryKind::kErf>},
                                         NamedRule{"Exp", unary<UnaryKind::kExp>},
                                         NamedRule{"Floor", unary<UnaryKind::kFloor>},
                                         NamedRule{"Gelu", gelu},
                                         NamedRule{"Greater", swapped<BinaryKind::kLess>},
                                         NamedRule{"GreaterOrEqual", swapped<BinaryKind::kLessEqual>},
                                         NamedRule{"HardSigmoid", hard_sigmoid},
                                         NamedRule{"HardSwish", hard_swish},
                                         NamedRule{"Identity", unary<UnaryKind::kIdentity>},
                                         NamedRule{"IsNaN", is_nan},
                                         NamedRule{"LeakyRelu", leaky_relu},
                                         NamedRule{"Less", binary<BinaryKind::kLess>},
                                         NamedRule{"LessOrEqual", binary<BinaryKind::kLessEqual>},
                                         NamedRule{"Log", unary<UnaryKind::kLog>},
                                         NamedRule{"Max", variadic<BinaryKind::kMax>},
                                         NamedRule{"Mean", mean},
                                         NamedRule{"Min", variadic<BinaryKind::kMin>},
                                         NamedRule{"Mul", binary<BinaryKind::kMul>},
                                         NamedRule{"Neg", unary<UnaryKind::kNeg>},
                                         NamedRule{"Not", unary<UnaryKind::kNot>},
                                         NamedRule{"Or", binary<BinaryKind::kOr>},
                                         NamedRule{"PRelu", prelu},
                                         NamedRule{"Pow", pow},
                                         NamedRule{"Reciprocal", unary<UnaryKind::kReciprocal>},
                                         NamedRule{"Relu", unary<UnaryKind::kRelu>},
                                         NamedRule{"Round", unary<UnaryKind::kRound>},
                                         NamedRule{"Sigmoid", unary<UnaryKind::kSigmoid>},
                                         NamedRule{"Sin", unary<UnaryKind::kSin>},
                                         NamedRule{"Softplus", softplus},
                                         NamedRule{"Softsign", softsign},
                                         NamedRule{"Sqrt", unary<UnaryKind::kSqrt>},
                                         NamedRule{"Sub", binary<BinaryKind::kSub>},
                                         NamedRule{"Sum", sum},
                                         NamedRule{"Tanh", unary<UnaryKind::kTanh>},
                                         NamedRule{"Where", where}};

}  // namespace

std::span<const NamedRule> arithmetic_rules() {
  return kArithmeticRules;
}

}  // namespace tf::onnx
