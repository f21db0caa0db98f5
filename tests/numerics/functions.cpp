#include "tests/numerics/functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/frontends/frontends.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::test {
namespace {

constexpr Real kRootHalf = 0.707106781186547524400844362104849039L;

Real nan() {
  return std::numeric_limits<Real>::quiet_NaN();
}
Real sigmoid(Real x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
Real softplus(Real x) {
  return std::max(x, Real{0}) + std::log1p(std::exp(-std::fabs(x)));
}
// ONNX: NaN of either operand is the result.
Real smaller(Real x, Real y) {
  return std::isnan(x) || std::isnan(y) ? nan() : std::min(x, y);
}
Real larger(Real x, Real y) {
  return std::isnan(x) || std::isnan(y) ? nan() : std::max(x, y);
}
Real gelu_tanh(Real x) {
  const Real inner = 0.797884560802865355879892119868763737L * (x + 0.044715L * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}
Real clipped(Real x, Real low, Real high) {
  return smaller(larger(x, low), high);
}
Real size(Real x, Real) {
  return std::fabs(x);
}

using F = ElementFunction;

F unary(std::string name, Real (*exact)(Real), double ulps = 4) {
  return {.name = name, .operation = name, .exact = [exact](Real x, Real) { return exact(x); }, .ulps = ulps};
}
F binary(std::string name, Real (*exact)(Real, Real), double ulps) {
  return {.name = name, .operation = name, .operands = 2, .exact = exact, .ulps = ulps, .ulps_f64 = ulps};
}
F without_zero_sign(F f) {
  f.has_zero_sign = false;
  return f;
}
F cancelling(F f, Real (*largest_term)(Real, Real)) {
  f.largest_term = largest_term;
  return f;
}

std::vector<F> plain_functions() {
  std::vector<F> all = {
      unary(
          "Abs", [](Real x) { return std::fabs(x); }, 0),
      unary(
          "Neg", [](Real x) { return -x; }, 0),
      unary("Exp", [](Real x) { return std::exp(x); }),
      unary("Log", [](Real x) { return std::log(x); }),
      unary(
          "Sqrt", [](Real x) { return std::sqrt(x); }, 0.5),
      unary(
          "Reciprocal", [](Real x) { return 1 / x; }, 0.5),
      unary(
          "Floor", [](Real x) { return std::floor(x); }, 0),
      unary(
          "Ceil", [](Real x) { return std::ceil(x); }, 0),
      unary(
          "Round", [](Real x) { return std::nearbyint(x); }, 0),
      unary("Sin", [](Real x) { return std::sin(x); }),
      unary("Cos", [](Real x) { return std::cos(x); }),
      unary("Tanh", [](Real x) { return std::tanh(x); }),
      unary("Erf", [](Real x) { return std::erf(x); }),
      unary("Sigmoid", sigmoid),
      unary(
          "Tan", [](Real x) { return std::tan(x); }, 6),
      unary("Asin", [](Real x) { return std::asin(x); }),
      unary("Acos", [](Real x) { return std::acos(x); }),
      unary("Atan", [](Real x) { return std::atan(x); }),
      unary("Sinh", [](Real x) { return std::sinh(x); }),
      unary("Cosh", [](Real x) { return std::cosh(x); }),
      unary("Asinh", [](Real x) { return std::asinh(x); }),
      unary("Acosh", [](Real x) { return std::acosh(x); }),
      unary("Atanh", [](Real x) { return std::atanh(x); }),
      without_zero_sign(unary(
          "Relu", [](Real x) { return larger(x, 0); }, 0)),
      binary(
          "Add", [](Real x, Real y) { return x + y; }, 0.51),
      binary(
          "Sub", [](Real x, Real y) { return x - y; }, 0.51),
      binary(
          "Mul", [](Real x, Real y) { return x * y; }, 0.51),
      binary(
          "Div", [](Real x, Real y) { return x / y; }, 0.51),
      binary(
          "Pow", [](Real x, Real y) { return std::pow(x, y); }, 4),
      without_zero_sign(binary("Min", smaller, 0)),
      without_zero_sign(binary("Max", larger, 0)),
  };
  for (F& f : all)
    if (f.name == "Pow") f.ulps_f64 = 90;
  F remainder = binary(
      "Mod", [](Real x, Real y) { return std::fmod(x, y); }, 0);
  remainder.name = "Mod, fmod";
  remainder.is_fmod = true;
  all.push_back(remainder);
  return all;
}

std::vector<F> composed_functions() {
  std::vector<F> all = {
      unary("Softplus", softplus),
      unary("Softsign", [](Real x) { return x / (1 + std::fabs(x)); }),
      cancelling(unary("Gelu", [](Real x) { return x / 2 * std::erfc(-x * kRootHalf); }), size),
      cancelling(unary("HardSwish", [](Real x) { return x * clipped(x / 6 + 0.5L, 0, 1); }), size),
      without_zero_sign(
          cancelling(unary("HardSigmoid", [](Real x) { return clipped(0.2L * x + 0.5L, 0, 1); }),
                     [](Real, Real) { return Real{1}; })),
      unary("Elu", [](Real x) { return x > 0 ? x : std::expm1(x); }),
      unary(
          "LeakyRelu", [](Real x) { return x < 0 ? static_cast<Real>(0.125L) * x : x; }, 0.51),
      binary(
          "PRelu", [](Real x, Real y) { return x < 0 ? x * y : x; }, 0.51),
  };
  for (F& f : all)
    if (f.name == "LeakyRelu") f.floats = {{"alpha", 0.125F}};
  F scaled = unary("Elu", [](Real x) { return x > 0 ? x : Real{1.5} * std::expm1(x); });
  scaled.name = "Elu, alpha 1.5";
  scaled.floats = {{"alpha", 1.5F}};
  all.push_back(scaled);
  for (const float exponent : {0.5F, -0.5F, 0.75F, 2.0F, 3.0F, -1.0F, -2.5F}) {
    F power = binary(
        "Pow", [](Real x, Real y) { return std::pow(x, y); }, 4);
    power.name = absl::StrCat("Pow, ", exponent);
    power.operands = 1;
    power.constant = exponent;
    power.exact = [exponent](Real x, Real) { return std::pow(x, Real{exponent}); };
    power.ulps_f64 = 90;
    all.push_back(std::move(power));
  }
  F tanh = cancelling(unary("Gelu", gelu_tanh), size);
  tanh.name = "Gelu, tanh";
  tanh.approximate = "tanh";
  all.push_back(tanh);
  return all;
}

int onnx_type(Element element) {
  switch (element) {
    case Element::kFloat16:
      return ::onnx::TensorProto::FLOAT16;
    case Element::kBFloat16:
      return ::onnx::TensorProto::BFLOAT16;
    case Element::kFloat64:
      return ::onnx::TensorProto::DOUBLE;
    default:
      return ::onnx::TensorProto::FLOAT;
  }
}

}  // namespace

const std::vector<ElementFunction>& element_functions() {
  static const std::vector<ElementFunction> all = [] {
    std::vector<F> functions = plain_functions();
    for (F& f : composed_functions()) functions.push_back(std::move(f));
    return functions;
  }();
  return all;
}

absl::StatusOr<graph::Graph> network_of(const ElementFunction& function, Element element, int64_t count) {
  onnx::ModelWriter m(20);
  std::vector<std::string> inputs = {"x", "y"};
  inputs.resize(static_cast<size_t>(function.operands));
  for (const std::string& input : inputs) m.input(input, {count}, onnx_type(element));
  if (function.constant) {
    inputs.emplace_back("y");
    auto& tensor = *m.graph().add_initializer();
    tensor.set_name("y");
    tensor.set_data_type(onnx_type(element));
    const Bytes bytes = encode(element, std::vector<double>{*function.constant});
    tensor.set_raw_data(bytes.data(), bytes.size());
  }
  ::onnx::NodeProto& node = m.node(function.operation, inputs, "z");
  for (const auto& [name, value] : function.floats) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  if (function.is_fmod) onnx::set(node, "fmod", 1);
  if (!function.approximate.empty()) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("approximate");
    attribute.set_type(::onnx::AttributeProto::STRING);
    attribute.set_s(function.approximate);
  }
  m.output("z");
  return frontends::import_model(m.bytes(), {});
}

}  // namespace tf::test
