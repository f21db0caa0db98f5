// The functions of f32. Coefficients of exp and log are those of Cephes (S. L. Moshier, single precision);
// those of erf are minimax ones.
#include "compiler/passes/math/polynomials.h"

namespace tf::passes {
namespace {

using namespace formula;  // NOLINT(google-build-using-namespace): these files speak of little else.

// x = n * ln(2) + r with |r| <= ln(2)/2, and exp(r) - 1.
struct ReducedExp {
  Expr n, expm1;
};
ReducedExp reduce_exp(const Expr& x, const Bind& bind) {
  const Expr n = bind(nearest(x * number(x, 1.44269504088896341)));
  const Expr r = bind(fma(n, 2.12194440e-4, fma(n, -0.693359375, x)));
  const Expr tail = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                                   1.6666665459e-1, 5.0000001201e-1});
  return {n, fma(tail, r * r, r)};
}

// exp of x from -104 to 89: beyond these it is 0 or infinity in f32.
Expr exp_in_range(const Expr& x, const Bind& bind) {
  const ReducedExp reduced = reduce_exp(x, bind);
  return ldexp(reduced.expm1 + number(x, 1), reduced.n);
}

// exp(x) - 1 for the same x, as 2 * (2^(n-1) * (exp(r) - 1) + (2^(n-1) - 1/2)): 2^n itself may be infinite.
Expr expm1_in_range(const Expr& x, const Bind& bind) {
  const ReducedExp reduced = reduce_exp(x, bind);
  const Expr scale = bind(power_of_two(bind(reduced.n - number(x, 1))));
  return fma(reduced.expm1, scale, scale - number(x, 0.5)) * number(x, 2);
}

// exponent * ln(2) + log(1 + fraction).
Expr log_of(const Decomposed& d, const Bind& bind) {
  const Expr& f = d.fraction;
  const Expr square = bind(f * f);
  const Expr p =
      polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                     -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  const Expr tail = fma(d.exponent, -2.12194440e-4, fma(square, -0.5, p * f * square));
  return fma(d.exponent, 0.693359375, f + tail);
}

}  // namespace

Expr exp_f32(const Expr& x, const Bind& bind) {
  return exp_in_range(bind(clamped(x, -104, 89)), bind);
}

Expr expm1_f32(const Expr& x, const Bind& bind) {
  return copysign(expm1_in_range(bind(clamped(x, -104, 89)), bind), x);  // -0 stays -0
}

Expr log_f32(const Expr& x, const Bind& bind) {
  const Expr regular = log_of(decompose_any(x, bind), bind);
  const Expr below = tensor::select(tensor::equal(x, number(x, 0)), number(x, -kInfinity), number(x, kNaN));
  const Expr above = tensor::select(x < number(x, kInfinity), regular, x);
  return tensor::select(number(x, 0) < x, above, below);
}

// 1 + x = 2^k * (1 + f) with f = x * 2^-k + (2^-k - 1), which is rounded once, however near to 0 it is.
Expr log1p_f32(const Expr& x, const Bind& bind) {
  const Expr sum = bind(x + number(x, 1));
  const Expr k = decompose(sum, bind).exponent;
  const Expr scale = bind(power_of_two(-k));
  const Expr f = bind(fma(x, scale, scale - number(x, 1)));
  const Expr regular = copysign(log_of({k, f}, bind), x);
  const Expr below = tensor::select(tensor::equal(sum, number(x, 0)), number(x, -kInfinity), number(x, kNaN));
  const Expr above = tensor::select(x < number(x, kInfinity), regular, x);
  return tensor::select(number(x, 0) < sum, above, below);
}

// t / (t + 2) with t = exp(2|x|) - 1; beyond 10 it is 1 in f32.
Expr tanh_f32(const Expr& x, const Bind& bind) {
  const Expr size = bind(tensor::min(tensor::abs(x), number(x, 10)));
  const Expr t = bind(expm1_in_range(bind(size + size), bind));
  return copysign(t / (t + number(x, 2)), x);
}

// An odd polynomial below 1; above, 1 - h^4 with a polynomial h near to the fourth root of erfc, so that the
// result cannot exceed 1. From 4 on erf is 1 in f32.
Expr erf_f32(const Expr& x, const Bind& bind) {
  const Expr size = bind(tensor::min(tensor::abs(x), number(x, 4.05)));
  const Expr square = bind(size * size);
  const Expr p = polynomial(square, {-5.6547281565e-4, 4.9232817255e-3, -2.6716176420e-2, 1.1280342937e-1,
                                     -3.7612342834e-1, 1.2837912142e-1});
  const Expr h = bind(polynomial(
      size, {-2.203242461215e-5, 1.744388573273e-4, 7.981142406960e-4, -1.282800742120e-2, 4.397754899750e-2,
             -1.770023948279e-2, -9.316792174760e-2, -2.936534373707e-1, 1.002191058776}));
  const Expr root = bind(h * h);
  const Expr large = fma(-root, root, number(x, 1));
  return copysign(tensor::select(size < number(x, 1), fma(p, size, size), large), x);
}

// 1 / (1 + t) or t / (1 + t) with t = exp(-|x|), which cannot overflow.
Expr sigmoid_f32(const Expr& x, const Bind& bind) {
  const Expr t = bind(exp_in_range(bind(tensor::max(-tensor::abs(x), number(x, -104))), bind));
  return tensor::select(x < number(x, 0), t, number(x, 1)) / (t + number(x, 1));
}

}  // namespace tf::passes
