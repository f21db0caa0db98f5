// Activations composed of graph operators. Halves are computed in f32.
#include <array>

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using tensor::Element;
using Result = absl::StatusOr<NodeId>;

Result checked(Formula& f, const Term& given, const Term& y) {
  if (f.ok() && !given.is_float())
    return f.result(f.invalid("it needs floating point, not " + to_string(given.type())));
  return f.result(cast(y, given.element()));
}

// Before operator set 6 the constants had fewer digits.
Result selu(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  const bool old = node.opset() < 6;
  const double alpha = f.attribute("alpha", old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = f.attribute("gamma", old ? 1.0507 : 1.05070102214813232421875);
  return checked(f, given, where(0.0 < x, x, expm1(x) * alpha) * gamma);
}

Result celu(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  const double alpha = f.attribute("alpha", 1.0);
  if (f.ok() && alpha == 0) return node.invalid("attribute 'alpha' is 0");
  return checked(f, given, where(0.0 < x, x, expm1(x / alpha) * alpha));
}

// log(1 + exp(x)), without overflow.
Term softplus(const Term& x) {
  return relu(x) + log1p(exp(-abs(x)));
}
Result mish(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  return checked(f, given, x * tanh(softplus(x)));
}

Result swish(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given);
  const double alpha = f.attribute("alpha", 1.0);
  return checked(f, given, x * sigmoid(alpha == 1 ? x : x * alpha));
}

Result thresholded_relu(NodeReader& node) {
  Formula f(node);
  const Term x = f.input(0);
  return checked(f, x, where(f.attribute("alpha", 1.0) < x, x, 0.0));
}

// Towards zero by `bias`, and zero from -lambd to lambd. Whole numbers are moved as real ones.
Result shrink(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const Term x = given.is_float() ? widened(given) : cast(given, Element::kFloat64);
  const double lambd = f.attribute("lambd", 0.5), bias = f.attribute("bias", 0.0);
  const Term y = where(x < -lambd, x + bias, where(lambd < x, x - bias, 0.0));
  return f.result(cast(y, given.element()));
}

constexpr std::array kActivationRules = {
    NamedRule{"Celu", celu},     NamedRule{"Mish", mish},   NamedRule{"Selu", selu},
    NamedRule{"Shrink", shrink}, NamedRule{"Swish", swish}, NamedRule{"ThresholdedRelu", thresholded_relu}};

}  // namespace

std::span<const NamedRule> activation_rules() {
  return kActivationRules;
}

}  // namespace tf::onnx
