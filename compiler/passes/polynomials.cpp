// Coefficients: exp, log, tanh, sin and cos from Cephes (S. L. Moshier, single precision); erf from Eigen (G.
// Guennebaud and others, MPL 2).
#include "compiler/passes/polynomials.h"

#include <initializer_list>
#include <limits>

namespace tf::passes {
namespace {

using ir::Expr;
using ir::Intrinsic;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Expr number(const Expr& like, double value) {
  return tensor::imm(like->type(), value);
}
Expr fma(const Expr& a, const Expr& b, const Expr& c) {
  return tensor::call(Intrinsic::kFma, {a, b, c});
}
Expr fma(const Expr& a, double b, const Expr& c) {
  return fma(a, number(a, b), c);
}
Expr nearest(const Expr& x) {
  return tensor::call(Intrinsic::kFloor, {x + number(x, 0.5)});
}
Expr ldexp(const Expr& x, const Expr& n) {
  return tensor::call(Intrinsic::kLdexp, {x, n});
}
// Horner's scheme, the highest coefficient first.
Expr polynomial(const Expr& x, std::initializer_list<double> coefficients) {
  Expr sum;
  for (double c : coefficients) sum = sum ? fma(sum, x, number(x, c)) : number(x, c);
  return sum;
}
Expr is_nan(const Expr& x) {
  return tensor::not_equal(x, x);
}
Expr with_sign_of(const Expr& magnitude, const Expr& x) {
  return tensor::select(x < number(x, 0), -magnitude, magnitude);
}

// exp of r for |r| <= ln(2)/2.
Expr exp_reduced(const Expr& r) {
  const Expr tail = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                                   1.6666665459e-1, 5.0000001201e-1});
  return fma(tail, r * r, r) + number(r, 1);
}

struct Decomposed {
  Expr exponent;  // a whole number
  Expr fraction;  // x = 2^exponent * (1 + fraction), sqrt(1/2) <= 1 + fraction < sqrt(2)
};
Decomposed decompose(const Expr& x, const Bind& bind) {
  const Expr exponent = bind(tensor::call(Intrinsic::kLogb, {x}));
  const Expr mantissa = bind(ldexp(x, -exponent));
  const Expr high = number(x, 1.41421356237) < mantissa;
  return {bind(tensor::select(high, exponent + number(x, 1), exponent)),
          bind(tensor::select(high, mantissa * number(x, 0.5), mantissa) - number(x, 1))};
}

// log(1 + f) - f, for f as in Decomposed.
Expr log_tail(const Expr& f, const Bind& bind) {
  const Expr square = bind(f * f);
  const Expr p =
      polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                     -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  return fma(square, -0.5, p * f * square);
}

// What sin and cos share: |x| = k * pi/2 + r with |r| <= pi/4, and k modulo 4.
struct Quadrant {
  Expr r, k;
};
Quadrant quadrant(const Expr& x, const Bind& bind) {
  const Expr k = bind(nearest(x * number(x, 0.636619772367581)));
  Expr r = fma(k, -1.5703125, x);
  r = fma(k, -4.83751296997070312e-4, r);
  r = fma(k, -7.549789415861596e-8, r);
  r = fma(k, -5.39030295e-15, r);
  const Expr turns = tensor::call(Intrinsic::kFloor, {k * number(x, 0.25)});
  return {bind(r), bind(fma(turns, -4, k))};
}
Expr sin_reduced(const Expr& r, const Bind& bind) {
  const Expr z = bind(r * r);
  return fma(polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), z * r, r);
}
Expr cos_reduced(const Expr& r, const Bind& bind) {
  const Expr z = bind(r * r);
  const Expr p = polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  return fma(p, z * z, fma(z, -0.5, number(r, 1)));
}

}  // namespace

Expr exp_f32(const Expr& x, const Bind& bind) {
  // Beyond these the result is 0 or infinity, by ldexp. A NaN passes through all of it.
  const Expr clamped = bind(tensor::min(tensor::max(x, number(x, -104)), number(x, 89)));
  const Expr n = bind(tensor::call(Intrinsic::kRound, {clamped * number(x, 1.44269504088896341)}));
  const Expr r = bind(fma(n, 2.12194440e-4, fma(n, -0.693359375, clamped)));
  return ldexp(exp_reduced(r), n);
}

Expr log_f32(const Expr& x, const Bind& bind) {
  const Decomposed d = decompose(x, bind);
  const Expr tail = fma(d.exponent, -2.12194440e-4, log_tail(d.fraction, bind));
  const Expr regular = fma(d.exponent, 0.693359375, d.fraction + tail);
  const Expr smallest = number(x, 1.17549435e-38);
  // Zero, denormals; below zero and NaN; infinity.
  const Expr low = tensor::select(number(x, 0) <= x, number(x, -kInfinity), number(x, kNaN));
  const Expr high = tensor::select(x < number(x, kInfinity), regular, x);
  return tensor::select(smallest <= x, high, low);
}

Expr tanh_f32(const Expr& x, const Bind& bind) {
  const Expr size = bind(tensor::abs(x));
  const Expr z = bind(x * x);
  const Expr small = fma(polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                        1.33314422036e-1, -3.33332819422e-1}),
                         z * x, x);
  const Expr e = bind(exp_f32(bind(size + size), bind));
  const Expr large = number(x, 1) - number(x, 2) / (e + number(x, 1));
  return tensor::select(number(x, 0.625) <= size, with_sign_of(bind(large), x), small);
}

// Odd over even polynomial on [-4, 4], beyond which erf is 1 in f32.
Expr erf_f32(const Expr& x, const Bind& bind) {
  const Expr clamped = bind(tensor::min(tensor::max(x, number(x, -4)), number(x, 4)));
  const Expr square = bind(clamped * clamped);
  const Expr p = polynomial(
      square, {-2.72614225801306e-10, 2.77068142495902e-8, -2.10102402082508e-6, -5.69250639462346e-5,
               -7.34990630326855e-4, -2.95459980854025e-3, -1.60960333262415e-2});
  const Expr q = polynomial(square, {-1.45660718464996e-5, -2.13374055278905e-4, -1.68282697438203e-3,
                                     -7.37332916720468e-3, -1.42647390514189e-2});
  return clamped * p / q;
}

Expr sigmoid_f32(const Expr& x, const Bind& bind) {
  return number(x, 1) / (number(x, 1) + exp_f32(bind(-x), bind));
}

Expr sin_f32(const Expr& x, const Bind& bind) {
  const Quadrant q = quadrant(x, bind);
  const Expr odd = tensor::logical_or(tensor::equal(q.k, number(x, 1)), tensor::equal(q.k, number(x, 3)));
  const Expr value = bind(tensor::select(odd, cos_reduced(q.r, bind), sin_reduced(q.r, bind)));
  return tensor::select(number(x, 2) <= q.k, -value, value);
}

Expr cos_f32(const Expr& x, const Bind& bind) {
  const Quadrant q = quadrant(x, bind);
  const Expr odd = tensor::logical_or(tensor::equal(q.k, number(x, 1)), tensor::equal(q.k, number(x, 3)));
  const Expr value = bind(tensor::select(odd, sin_reduced(q.r, bind), cos_reduced(q.r, bind)));
  const Expr negative =
      tensor::logical_or(tensor::equal(q.k, number(x, 1)), tensor::equal(q.k, number(x, 2)));
  return tensor::select(negative, -value, value);
}

namespace {

// 2^(y * log2(size)) for a normal, finite size.
Expr power_of_normal(const Expr& size, const Expr& y, const Bind& bind) {
  auto limited = [&](const Expr& e, double limit) {
    return bind(tensor::min(tensor::max(e, number(e, -limit)), number(e, limit)));
  };
  const Decomposed d = decompose(size, bind);
  const Expr log2_fraction = bind((d.fraction + log_tail(d.fraction, bind)) * number(y, 1.44269504088896341));
  // The exponent's share of the product and the fraction's, each with what its rounding lost.
  const Expr power = limited(y, 4e9);
  const Expr whole = bind(power * d.exponent), part = bind(power * log2_fraction);
  const Expr lost = fma(power, d.exponent, -whole) + fma(power, log2_fraction, -part);
  const Expr n = limited(nearest(whole + part), 250);
  const Expr rest = limited((whole - n) + part + lost, 100);
  const Expr rest_whole = bind(nearest(rest));
  const Expr r = bind((rest - rest_whole) * number(y, 0.693147180559945309));
  return ldexp(exp_reduced(r), limited(n + rest_whole, 250));
}

}  // namespace

Expr pow_f32(const Expr& x, const Expr& y, const Bind& bind) {
  const Expr zero = number(x, 0), one = number(x, 1), infinity = number(x, kInfinity);
  const Expr size = bind(tensor::abs(x));
  const Expr regular = bind(power_of_normal(size, y, bind));
  const Expr upwards = zero < y;  // the power of a base at the end of the range is 0 or infinity
  const Expr of_zero = tensor::select(upwards, zero, infinity);
  const Expr of_infinity = tensor::select(upwards, infinity, zero);
  const Expr magnitude =
      bind(tensor::select(size < number(x, 1.17549435e-38), of_zero,
                          tensor::select(tensor::equal(size, infinity), of_infinity, regular)));
  // A negative base: the sign of odd powers; NaN where the exponent is no whole number.
  const Expr half = bind(y * number(x, 0.5));
  const Expr is_whole = tensor::equal(y, tensor::call(Intrinsic::kFloor, {y}));
  const Expr is_even = tensor::equal(half, tensor::call(Intrinsic::kFloor, {half}));
  const Expr of_negative =
      tensor::select(is_whole, tensor::select(is_even, magnitude, -magnitude), number(x, kNaN));
  const Expr defined = tensor::select(tensor::logical_or(is_nan(x), is_nan(y)), number(x, kNaN),
                                      tensor::select(x < zero, of_negative, magnitude));
  return tensor::select(tensor::logical_or(tensor::equal(y, zero), tensor::equal(x, one)), one, defined);
}

}  // namespace tf::passes
