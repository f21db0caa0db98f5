// The functions of f64. Minimax coefficients; the form of the logarithm is that of fdlibm (Sun Microsystems).
#include "compiler/passes/math/polynomials.h"

namespace tf::passes {
namespace {

using namespace formula;  // NOLINT(google-build-using-namespace): these files speak of little else.

// ln(2) in two parts, of which the first has so few bits that its products with exponents are exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

// x = n * ln(2) + r, and exp(r) - 1.
struct ReducedExpF64 {
  Expr n, expm1;
};
// exp(r) - 1 for |r| <= ln(2)/2.
Expr expm1_reduced(const Expr& r, const Bind& bind) {
  const Expr tail = polynomial(
      r, {0x1.1f32e86a4932bp-29, 0x1.af4eb35b74ab1p-26, 0x1.27e500e20f753p-22, 0x1.71de01b8495c5p-19,
          0x1.a01a0197bc746p-16, 0x1.a01a01ac1a7cdp-13, 0x1.6c16c16c18932p-10, 0x1.1111111110056p-7,
          0x1.5555555555552p-5, 0x1.5555555555557p-3, 0.5});
  return bind(r * r) * tail + r;
}
ReducedExpF64 reduce_exp_f64(const Expr& x, const Bind& bind) {
  const Expr n = bind(nearest(x * number(x, 1.44269504088896341)));
  const Expr r = bind((x - n * number(x, kLn2High)) - n * number(x, kLn2Low));
  return {n, expm1_reduced(r, bind)};
}

// exp of x from -746 to 710: beyond these it is 0 or infinity.
Expr exp_in_range_f64(const Expr& x, const Bind& bind) {
  const ReducedExpF64 reduced = reduce_exp_f64(x, bind);
  return ldexp(reduced.expm1 + number(x, 1), reduced.n);
}

// exp(x) - 1 for the same x, as expm1_f32 does it.
Expr expm1_in_range_f64(const Expr& x, const Bind& bind) {
  const ReducedExpF64 reduced = reduce_exp_f64(x, bind);
  const Expr scale = bind(power_of_two(bind(reduced.n - number(x, 1))));
  return (reduced.expm1 * scale + (scale - number(x, 0.5))) * number(x, 2);
}

// exponent * ln(2) + log(1 + f), the latter as f - (f²/2 - s * (f²/2 + R(s²))) with s = f / (2 + f).
Expr log_of_f64(const Decomposed& d, const Bind& bind) {
  const Expr& f = d.fraction;
  const Expr s = bind(f / (f + number(f, 2)));
  const Expr square = bind(s * s);
  const Expr rest =
      square * polynomial(square, {0x1.2b5949cfe9c75p-3, 0x1.39fe4eb5b695ap-3, 0x1.7462b50a97c71p-3,
                                   0x1.c71c62e541c4ep-3, 0x1.2492492defb07p-2, 0x1.999999999531cp-2,
                                   0x1.5555555555558p-1});
  const Expr half = bind(f * f * number(f, 0.5));
  const Expr tail = half - (s * (half + rest) + d.exponent * number(f, kLn2Low));
  return d.exponent * number(f, kLn2High) - (tail - f);
}

}  // namespace

Expr exp_reduced_f64(const Expr& r, const Bind& bind) {
  return expm1_reduced(r, bind) + number(r, 1);
}

Expr exp_f64(const Expr& x, const Bind& bind) {
  return exp_in_range_f64(bind(clamped(x, -746, 710)), bind);
}

Expr expm1_f64(const Expr& x, const Bind& bind) {
  return copysign(expm1_in_range_f64(bind(clamped(x, -746, 710)), bind), x);
}

Expr log_f64(const Expr& x, const Bind& bind) {
  const Expr regular = log_of_f64(decompose_any(x, bind), bind);
  const Expr below = tensor::select(tensor::equal(x, number(x, 0)), number(x, -kInfinity), number(x, kNaN));
  const Expr above = tensor::select(x < number(x, kInfinity), regular, x);
  return tensor::select(number(x, 0) < x, above, below);
}

Expr log1p_f64(const Expr& x, const Bind& bind) {
  const Expr sum = bind(x + number(x, 1));
  const Expr k = decompose(sum, bind).exponent;
  const Expr scale = bind(power_of_two(-k));
  const Expr f = bind(x * scale + (scale - number(x, 1)));  // the product is exact
  const Expr regular = copysign(log_of_f64({k, f}, bind), x);
  const Expr below = tensor::select(tensor::equal(sum, number(x, 0)), number(x, -kInfinity), number(x, kNaN));
  const Expr above = tensor::select(x < number(x, kInfinity), regular, x);
  return tensor::select(number(x, 0) < sum, above, below);
}

Expr tanh_f64(const Expr& x, const Bind& bind) {
  const Expr size = bind(tensor::min(tensor::abs(x), number(x, 22)));
  const Expr t = bind(expm1_in_range_f64(bind(size + size), bind));
  return copysign(t / (t + number(x, 2)), x);
}

// As erf_f32, with the sixteenth root of erfc. From 6 on erf is 1.
Expr erf_f64(const Expr& x, const Bind& bind) {
  const Expr size = bind(tensor::min(tensor::abs(x), number(x, 6.02)));
  const Expr p =
      polynomial(bind(size * size), {6.7636730526513318e-11, -1.1877050412463726e-9, 1.4798478798892824e-8,
                                     -1.6372388793014335e-7, 1.6463248766611732e-6, -1.4925748260975606e-5,
                                     1.2055338164247337e-4, -8.5483271994193986e-4, 5.2239776292463680e-3,
                                     -2.6866170645631932e-2, 1.1283791670958783e-1, -3.7612638903183876e-1,
                                     1.2837916709551259e-1});
  const Expr h = bind(polynomial(
      size, {5.372656998950798e-14, -2.5192811812468922e-12, 5.530362962103211e-11, -7.545874228342362e-10,
             7.1576534125336795e-9, -4.991295607574326e-8, 2.627581042967893e-7, -1.0456879062049445e-6,
             3.030872346640159e-6, -5.510362675592139e-6, 9.227289910036458e-7, 3.677453159219463e-5,
             -1.6119293887683687e-4, 1.1910015513967534e-4, 2.3390503602781334e-3, -3.6740701147681314e-3,
             -3.73025147265361e-2, -7.05235738814918e-2, 9.999999876208404e-1}));
  const Expr second = bind(h * h), fourth = bind(second * second), eighth = bind(fourth * fourth);
  const Expr large = number(x, 1) - eighth * eighth;
  return copysign(tensor::select(size < number(x, 1), p * size + size, large), x);
}

Expr sigmoid_f64(const Expr& x, const Bind& bind) {
  const Expr t = bind(exp_in_range_f64(bind(tensor::max(-tensor::abs(x), number(x, -746))), bind));
  return tensor::select(x < number(x, 0), t, number(x, 1)) / (t + number(x, 1));
}

}  // namespace tf::passes
