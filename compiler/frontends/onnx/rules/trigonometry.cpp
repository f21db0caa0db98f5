// Circular and hyperbolic functions and their inverses, made of sin, cos, atan, exp and log. Halves are computed in f32.
#include <array>
#include <limits>

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using Result = absl::StatusOr<NodeId>;

template <Term (*kFunction)(const Term&)>
Result of_one(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0);
  const Term x = widened(given);
  if (f.ok() && !x.is_float())
    return f.result(f.invalid("it needs floating point, not " + to_string(x.type())));
  return f.result(cast(kFunction(x), given.element()));
}

// An odd function from its values for sizes. A zero keeps its sign.
Term odd(const Term& x, const Term& of_size) {
  return where(x < 0.0, -of_size, where(equal(x, 0.0), x, of_size));
}

// Above this, exp(-x) adds nothing to exp(x), whose half might overflow late: exp(x / 2)² / 2 does not.
constexpr double kLargeExponent = 20;
Term half_exp(const Term& size) {
  const Term root = exp(size * 0.5);
  return (root * 0.5) * root;
}

Term sinh_of(const Term& x) {
  const Term size = abs(x), e = expm1(size);
  return odd(x, where(size < kLargeExponent, (e + e / (e + 1.0)) * 0.5, half_exp(size)));
}
Term cosh_of(const Term& x) {
  const Term size = abs(x), e = exp(size);
  return where(size < kLargeExponent, (e + reciprocal(e)) * 0.5, half_exp(size));
}
Term tan_of(const Term& x) {
  return sin(x) / cos(x);
}
Term atan_of(const Term& x) {
  return atan(x);
}
// 1 - x and 1 + x are exact where x is near to 1 or -1.
Term asin_of(const Term& x) {
  return atan(x / sqrt((1.0 - x) * (x + 1.0)));
}
Term acos_of(const Term& x) {
  return atan(sqrt((1.0 - x) / (x + 1.0))) * 2.0;
}

// Above this, x² + 1 is x² in f64 too, and x² might overflow.
constexpr double kLarge = 1e9, kLn2 = 0.69314718055994531;
Term asinh_of(const Term& x) {
  const Term size = abs(x), square = size * size;
  const Term near = log1p(size + square / (sqrt(square + 1.0) + 1.0));
  return odd(x, where(size < kLarge, near, log(size) + kLn2));
}
Term acosh_of(const Term& x) {
  const Term t = x - 1.0;
  const Term near = log1p(t + sqrt(t * (t + 2.0)));
  const Term inside = where(x < kLarge, near, log(x) + kLn2);
  return where(x < 1.0, std::numeric_limits<double>::quiet_NaN(), inside);
}
Term atanh_of(const Term& x) {
  const Term size = abs(x);
  return odd(x, log1p((size * 2.0) / (1.0 - size)) * 0.5);
}

constexpr std::array kTrigonometryRules = {
    NamedRule{"Acos", of_one<acos_of>}, NamedRule{"Acosh", of_one<acosh_of>},
    NamedRule{"Asin", of_one<asin_of>}, NamedRule{"Asinh", of_one<asinh_of>},
    NamedRule{"Atan", of_one<atan_of>}, NamedRule{"Atanh", of_one<atanh_of>},
    NamedRule{"Cosh", of_one<cosh_of>}, NamedRule{"Sinh", of_one<sinh_of>},
    NamedRule{"Tan", of_one<tan_of>}};

}  // namespace

std::span<const NamedRule> trigonometry_rules() {
  return kTrigonometryRules;
}

}  // namespace tf::onnx
