#pragma once
// Owns: the words that formulas for functions are written in: constants like an operand, fused steps,
// polynomials, signs. Does not know: any function.

#include <functional>
#include <initializer_list>
#include <limits>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Names a value that is used more than once; returns the variable.
using Bind = std::function<ir::Expr(const ir::Expr&)>;

namespace formula {

using ir::Element;
using ir::Expr;
using ir::Intrinsic;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline Expr number(const Expr& like, double value) {
  return tensor::imm(like->type(), value);
}
inline Expr fma(const Expr& a, const Expr& b, const Expr& c) {
  return tensor::call(Intrinsic::kFma, {a, b, c});
}
inline Expr fma(const Expr& a, double b, const Expr& c) {
  return fma(a, number(a, b), c);
}
// The nearest whole number, ties to even.
inline Expr nearest(const Expr& x) {
  return tensor::call(Intrinsic::kRound, {x});
}
inline Expr floor(const Expr& x) {
  return tensor::call(Intrinsic::kFloor, {x});
}
inline Expr ldexp(const Expr& x, const Expr& n) {
  return tensor::call(Intrinsic::kLdexp, {x, n});
}
// 2^n
inline Expr power_of_two(const Expr& n) {
  return ldexp(number(n, 1), n);
}
inline Expr copysign(const Expr& magnitude, const Expr& sign) {
  return tensor::call(Intrinsic::kCopysign, {magnitude, sign});
}
// A NaN stays one.
inline Expr clamped(const Expr& x, double low, double high) {
  return tensor::min(tensor::max(x, number(x, low)), number(x, high));
}
inline bool is_double(const Expr& x) {
  return x->type().element == Element::kFloat64;
}
// a * b + c. f32 takes fused steps, so that every CPU gives the same bits; f64 takes them where the CPU has them,
// because emulating them is slow.
inline Expr multiply_add(const Expr& a, const Expr& b, const Expr& c) {
  return is_double(a) ? a * b + c : fma(a, b, c);
}
// Horner's scheme, the highest coefficient first.
inline Expr polynomial(const Expr& x, std::initializer_list<double> coefficients) {
  Expr sum;
  for (const double c : coefficients) {
    const Expr next = number(x, c);
    sum = sum ? multiply_add(sum, x, next) : next;
  }
  return sum;
}

// x = 2^exponent * (1 + fraction), with 1 + fraction from sqrt(1/2) to sqrt(2).
struct Decomposed {
  Expr exponent;  // a whole number
  Expr fraction;
};
// Of a normal x > 0, or of a negative one without its sign.
inline Decomposed decompose(const Expr& x, const Bind& bind) {
  const Expr exponent = tensor::call(Intrinsic::kLogb, {x});
  const Expr significand = bind(tensor::call(Intrinsic::kSignificand, {x}));
  const Expr high = bind(number(x, 1.41421356237309505) < significand);
  return {bind(exponent + tensor::select(high, number(x, 1), number(x, 0))),
          bind(tensor::select(high, significand * number(x, 0.5), significand) - number(x, 1))};
}
// The same of a positive x that may be denormal.
inline Decomposed decompose_any(const Expr& x, const Bind& bind) {
  const bool wide = is_double(x);
  const double shift = wide ? 54 : 24;
  const double smallest = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const double scale = wide ? 0x1p54 : 0x1p24;
  const Expr tiny = bind(x < number(x, smallest));
  const Decomposed d = decompose(bind(tensor::select(tiny, x * number(x, scale), x)), bind);
  return {bind(d.exponent - tensor::select(tiny, number(x, shift), number(x, 0))), d.fraction};
}

}  // namespace formula
}  // namespace tf::passes
