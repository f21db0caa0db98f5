// Operators on one element of each operand.
#include <algorithm>

#include "tests/support/random_models/random_model.h"

namespace tf::onnx {
namespace {

constexpr std::string_view kFloats = "fhd", kNumbers = "fhdilbBsSIL", kIntegers = "ilbBsSIL",
                           kAll = "fhdilbBsSIL?";

Fill often_small(RandomModel& m) {
  return m.one_in(4) ? Fill::kAny : Fill::kSmall;
}

::onnx::NodeProto& unary(RandomModel& m, const char* op_type, std::string_view types, Fill fill) {
  const int type = m.type(types);
  return m.node(op_type, {m.operand(type, m.shape(0, 5), fill)});
}

// Attributes of numbers, each left out now and then.
void some_floats(RandomModel& m, ::onnx::NodeProto& node, std::initializer_list<const char*> names,
                 double low, double high) {
  for (const char* name : names)
    if (m.flip()) set(node, name, m.real(low, high));
}

// a and b, of one type, which broadcast.
std::vector<std::string> operands(RandomModel& m, int type, int64_t count, Fill first, Fill others) {
  const Shape shape = m.shape(0, 5);
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i)
    names.push_back(m.operand(type, m.one_in(3) ? shape : m.broadcast_to(shape), i == 0 ? first : others));
  return names;
}

void binary(RandomModel& m, const char* op_type, std::string_view types) {
  const Fill fill = often_small(m);
  m.node(op_type, operands(m, m.type(types), 2, fill, fill));
}

void divide(RandomModel& m) {
  const int type = m.type(m.opset() >= 14 ? kNumbers : "fhdilIL");
  const Fill fill = is_real(type) ? often_small(m) : Fill::kSmall;
  m.node("Div", operands(m, type, 2, fill, is_real(type) ? fill : Fill::kPositive));
}

void power(RandomModel& m) {
  const int base = m.type(m.opset() >= 12 ? "fhdil" : "fhd");
  const int exponent = m.opset() >= 12 && m.one_in(3) ? m.type(kNumbers) : base;
  const Shape shape = m.shape(0, 4);
  const Fill fill = m.one_in(4) ? Fill::kAny : Fill::kPositive;
  const std::string x = m.operand(base, m.broadcast_to(shape), is_real(base) ? fill : Fill::kUnit);
  if (m.one_in(3)) {
    const double value = m.pick(std::vector<double>{2, 3, 0.5, -1, 1, 0, -0.5, 1.5});
    m.node("Pow", {x, m.reals(exponent, {}, {is_real(exponent) ? value : std::max(value, 0.0)}, true)});
    return;
  }
  m.node("Pow", {x, m.operand(exponent, m.broadcast_to(shape),
                              is_real(base) && is_real(exponent) ? often_small(m) : Fill::kPositive)});
}

void remainder(RandomModel& m) {
  const int type = m.type(kNumbers);
  auto& node = m.node("Mod", operands(m, type, 2, Fill::kSmall, Fill::kPositive));
  if (is_real(type) || m.one_in(3)) set(node, "fmod", 1);
}

void shift(RandomModel& m) {
  const int type = m.type("BSIL");
  const Shape shape = m.shape(0, 4);
  const std::string x = m.operand(type, m.broadcast_to(shape), Fill::kAny);
  auto& node = m.node("BitShift", {x, m.operand(type, m.broadcast_to(shape), Fill::kUnit)});
  set(node, "direction", m.flip() ? "LEFT" : "RIGHT");
}

void prelu(RandomModel& m) {
  const int type = m.type(m.opset() >= 9 ? "fhdilIL" : "fhd");
  const Shape shape = m.shape(1, 4);
  const std::string x = m.operand(type, shape, often_small(m));
  m.node("PRelu", {x, m.operand(type, m.broadcast_to(shape))});
}

void where(RandomModel& m) {
  const int type = m.type(kAll);
  const Shape shape = m.shape(0, 5);
  const std::string condition = m.operand(::onnx::TensorProto::BOOL, m.broadcast_to(shape));
  const std::string x = m.operand(type, m.broadcast_to(shape), often_small(m));
  m.node("Where", {condition, x, m.operand(type, m.broadcast_to(shape), often_small(m))});
}

void clip(RandomModel& m) {
  const int type = m.type(m.opset() >= 12 ? kNumbers : "fhd");
  const std::string x = m.operand(type, m.shape(0, 5), often_small(m));
  const double low = is_real(type) ? m.real(-3, 0) : 1, high = m.one_in(8) ? low - 1 : low + 4;
  if (m.opset() < 11) {
    auto& node = m.node("Clip", {x});
    if (m.flip()) set(node, "min", low);
    if (m.flip()) set(node, "max", high);
    return;
  }
  std::vector<std::string> inputs = {x};
  if (m.flip()) inputs.push_back(m.scalar(type, low));
  if (m.flip()) {
    inputs.resize(2);
    inputs.push_back(m.scalar(type, high));
  }
  m.node("Clip", inputs);
}

void cast(RandomModel& m) {
  const int from = m.type(kAll), to = m.type(kAll);
  const Fill fill = is_real(from) && !is_real(to) ? Fill::kPositive : Fill::kSmall;
  const std::string x = m.operand(from, m.shape(0, 5), fill);
  if (m.opset() >= 15 && m.one_in(4))
    m.node("CastLike", {x, m.operand(to, m.shape(0, 2))});
  else
    set(m.node("Cast", {x}), "to", to);
}

void variadic(RandomModel& m, const char* op_type, std::string_view types) {
  const Fill fill = often_small(m);
  m.node(op_type, operands(m, m.type(types), m.between(1, 4), fill, fill));
}

void gelu(RandomModel& m) {
  auto& node = unary(m, "Gelu", kFloats, Fill::kSmall);
  if (m.flip()) set(node, "approximate", m.pick({"none", "tanh"}));
}

void is_inf(RandomModel& m) {
  auto& node = unary(m, "IsInf", m.opset() >= 20 ? "fdh" : "fd", Fill::kAny);
  if (m.one_in(3)) set(node, "detect_negative", m.below(2));
  if (m.one_in(3)) set(node, "detect_positive", m.below(2));
}

void bit_cast(RandomModel& m) {
  const std::vector<std::string> kAlike = {"fiI", "hsS", "dlL", "bB"};
  const std::string& letters = m.pick(kAlike);
  const int to = m.type(letters);
  set(m.node("BitCast", {m.operand(m.type(letters), m.shape(0, 4), Fill::kAny)}), "to", to);
}

}  // namespace

RandomOperators element_wise_operators() {
  // clang-format off
#define TF_UNARY(op, since, types, fill) {#op, since, [](RandomModel& m) { unary(m, #op, types, fill); }}
#define TF_BINARY(op, since, types) {#op, since, [](RandomModel& m) { binary(m, #op, types); }}
#define TF_VARIADIC(op, since, types) {#op, since, [](RandomModel& m) { variadic(m, #op, types); }}
#define TF_SCALED(op, since, low, high, ...) \
  {#op, since, [](RandomModel& m) { some_floats(m, unary(m, #op, kFloats, often_small(m)), {__VA_ARGS__}, low, high); }}
  return {
      TF_UNARY(Abs, 7, kNumbers, often_small(m)),
      TF_UNARY(Neg, 7, "fhdilbs", Fill::kSmall),
      TF_UNARY(Exp, 7, kFloats, often_small(m)),
      TF_UNARY(Log, 7, kFloats, m.one_in(3) ? Fill::kAny : Fill::kPositive),
      TF_UNARY(Sqrt, 7, kFloats, m.one_in(3) ? Fill::kAny : Fill::kPositive),
      TF_UNARY(Reciprocal, 7, kFloats, often_small(m)),
      TF_UNARY(Floor, 7, kFloats, often_small(m)),
      TF_UNARY(Ceil, 7, kFloats, often_small(m)),
      TF_UNARY(Round, 11, kFloats, often_small(m)),
      TF_UNARY(Sin, 7, "fd", often_small(m)),
      TF_UNARY(Cos, 7, "fd", often_small(m)),
      TF_UNARY(Tan, 7, "fd", Fill::kUnit),
      TF_UNARY(Asin, 7, "fd", Fill::kUnit),
      TF_UNARY(Acos, 7, "fd", Fill::kUnit),
      TF_UNARY(Atan, 7, "fd", often_small(m)),
      TF_UNARY(Sinh, 9, "fd", Fill::kSmall),
      TF_UNARY(Cosh, 9, "fd", Fill::kSmall),
      TF_UNARY(Tanh, 7, kFloats, often_small(m)),
      TF_UNARY(Asinh, 9, "fd", often_small(m)),
      TF_UNARY(Acosh, 9, "fd", often_small(m)),
      TF_UNARY(Atanh, 9, "fd", Fill::kUnit),
      TF_UNARY(Erf, 9, "fhd", often_small(m)),
      TF_UNARY(Sigmoid, 7, kFloats, often_small(m)),
      TF_UNARY(Relu, 7, m.opset() >= 14 ? "fhdilbs" : kFloats, often_small(m)),
      TF_UNARY(Softplus, 7, kFloats, Fill::kSmall),
      TF_UNARY(Softsign, 7, kFloats, Fill::kSmall),
      TF_UNARY(Sign, 9, kNumbers, Fill::kSmall),
      TF_UNARY(Not, 7, "?", Fill::kSmall),
      TF_UNARY(IsNaN, 9, kFloats, Fill::kAny),
      TF_UNARY(Identity, 7, kAll, Fill::kAny),
      TF_UNARY(HardSwish, 14, kFloats, Fill::kSmall),
      TF_UNARY(Mish, 18, kFloats, Fill::kSmall),
      TF_UNARY(BitwiseNot, 18, kIntegers, Fill::kAny),
      TF_SCALED(Elu, 7, -1, 2, "alpha"),
      TF_SCALED(Celu, 12, 0.3, 2, "alpha"),
      TF_SCALED(Selu, 7, 0.2, 2, "alpha", "gamma"),
      TF_SCALED(LeakyRelu, 7, -1, 1, "alpha"),
      TF_SCALED(HardSigmoid, 7, 0.1, 0.7, "alpha", "beta"),
      TF_SCALED(ThresholdedRelu, 10, -1, 2, "alpha"),
      TF_SCALED(Shrink, 9, 0.1, 2, "bias", "lambd"),
      TF_SCALED(Swish, 24, -1, 2, "alpha"),
      {"Gelu", 20, gelu},
      {"IsInf", 10, is_inf},
      {"Clip", 7, clip},
      {"Cast", 7, cast},
      {"BitCast", 26, bit_cast},
      TF_BINARY(Add, 7, m.opset() >= 14 ? kNumbers : "fhdilIL"),
      TF_BINARY(Sub, 7, m.opset() >= 14 ? kNumbers : "fhdilIL"),
      TF_BINARY(Mul, 7, m.opset() >= 14 ? kNumbers : "fhdilIL"),
      {"Div", 7, divide},
      {"Pow", 7, power},
      {"Mod", 10, remainder},
      {"BitShift", 11, shift},
      TF_BINARY(And, 7, "?"),
      TF_BINARY(Or, 7, "?"),
      TF_BINARY(Xor, 7, "?"),
      TF_BINARY(Equal, 7, m.opset() >= 11 ? kAll : "il?"),
      TF_BINARY(Less, 7, m.opset() >= 9 ? kNumbers : kFloats),
      TF_BINARY(Greater, 7, m.opset() >= 9 ? kNumbers : kFloats),
      TF_BINARY(LessOrEqual, 12, kNumbers),
      TF_BINARY(GreaterOrEqual, 12, kNumbers),
      TF_BINARY(BitwiseAnd, 18, kIntegers),
      TF_BINARY(BitwiseOr, 18, kIntegers),
      TF_BINARY(BitwiseXor, 18, kIntegers),
      {"PRelu", 7, prelu},
      {"Where", 9, where},
      TF_VARIADIC(Max, 8, m.opset() >= 12 ? kNumbers : kFloats),
      TF_VARIADIC(Min, 8, m.opset() >= 12 ? kNumbers : kFloats),
      TF_VARIADIC(Sum, 8, kFloats),
      TF_VARIADIC(Mean, 8, kFloats),
  };
  // clang-format on
#undef TF_UNARY
#undef TF_BINARY
#undef TF_VARIADIC
#undef TF_SCALED
}

}  // namespace tf::onnx
