// Coefficients of log of f32 and of atan are those of Cephes (S. L. Moshier); the others are minimax
// ones. The form of the logarithm of f64 is that of fdlibm (Sun Microsystems).
#include <cmath>

#include "compiler/passes/math/functions.h"

namespace tf::passes {
namespace {

using namespace formula;  // NOLINT(google-build-using-namespace): these files speak of little else.

// ln(2) in two parts, of which the first has so few bits that its products with exponents are exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;

// Beyond these exp of that element is 0 or infinity.
struct Range {
  double low, high;
};
Range range_of_exp(const Expr& x) {
  return is_double(x) ? Range{-746, 710} : Range{-104, 89};
}
Expr clamped_for_exp(const Expr& x) {
  return clamped(x, range_of_exp(x).low, range_of_exp(x).high);
}

// exp(r) - 1 for |r| <= ln(2)/2.
Expr expm1_reduced_f64(const Expr& r, const Bind& bind) {
  const Expr tail = polynomial(
      r, {0x1.1f32e86a4932bp-29, 0x1.af4eb35b74ab1p-26, 0x1.27e500e20f753p-22, 0x1.71de01b8495c5p-19,
          0x1.a01a0197bc746p-16, 0x1.a01a01ac1a7cdp-13, 0x1.6c16c16c18932p-10, 0x1.1111111110056p-7,
          0x1.5555555555552p-5, 0x1.5555555555557p-3, 0.5});
  return bind(r * r) * tail + r;
}

// x = n * ln(2) + r with |r| <= ln(2)/2, and exp(r) - 1.
struct ReducedExp {
  Expr n, expm1;
};
ReducedExp reduce_exp(const Expr& x, const Bind& bind) {
  constexpr double kLog2E = 1.44269504088896341;
  if (is_double(x)) {
    const Expr n = bind(nearest(x * number(x, kLog2E)));
    const Expr r = bind((x - n * number(x, kLn2High)) - n * number(x, kLn2Low));
    return {n, expm1_reduced_f64(r, bind)};
  }
  // A sum of that size has no fraction: the step that multiplies rounds, too.
  const Expr whole = number(x, 0x1.8p23);
  const Expr n = bind(fma(x, number(x, kLog2E), whole) - whole);
  const Expr r = bind(fma(n, 2.12194440e-4, fma(n, -0.693359375, x)));
  // In two halves, which do not wait for each other.
  const Expr square = bind(r * r);
  const Expr high = polynomial(r, {0x1.6d4e66p-10, 0x1.120c18p-7}),
             low = polynomial(r, {0x1.5554e8p-5, 0x1.5554dcp-3});
  const Expr tail = fma(fma(high, square, low), r, number(x, 0.5));
  return {n, fma(tail, square, r)};
}

// exp of an x in the range.
Expr exp_in_range(const Expr& x, const Bind& bind) {
  const ReducedExp reduced = reduce_exp(x, bind);
  return ldexp(reduced.expm1 + number(x, 1), reduced.n);
}

Expr log_of_f32(const Decomposed& d, const Bind& bind) {
  const Expr& f = d.fraction;
  const Expr square = bind(f * f);
  const Expr p =
      polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                     -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  const Expr tail = fma(d.exponent, -2.12194440e-4, fma(square, -0.5, p * f * square));
  return fma(d.exponent, 0.693359375, f + tail);
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

// exponent * ln(2) + log(1 + fraction).
Expr log_of(const Decomposed& d, const Bind& bind) {
  return is_double(d.fraction) ? log_of_f64(d, bind) : log_of_f32(d, bind);
}

// What a logarithm of x is, if `regular` is that of a positive, finite argument.
Expr log_with_ends(const Expr& x, const Expr& argument, const Expr& regular) {
  const Expr below =
      tensor::select(tensor::equal(argument, number(x, 0)), number(x, -kInfinity), number(x, kNaN));
  const Expr above = tensor::select(x < number(x, kInfinity), regular, x);
  return tensor::select(number(x, 0) < argument, above, below);
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

}  // namespace

Expr exp_reduced_f64(const Expr& r, const Bind& bind) {
  return expm1_reduced_f64(r, bind) + number(r, 1);
}

Expr exp(const Expr& x, const Bind& bind) {
  return exp_in_range(bind(clamped_for_exp(x)), bind);
}

// 2 * (2^(n-1) * (exp(r) - 1) + (2^(n-1) - 1/2)): 2^n itself may be infinite. Below the range it is -1.
Expr expm1(const Expr& x, const Bind& bind) {
  const Expr in_range = is_double(x) ? clamped(x, -40, 709.8) : clamped(x, -30, 88.8);
  const ReducedExp reduced = reduce_exp(bind(in_range), bind);
  const Expr scale = bind(power_of_two(reduced.n - number(x, 1)));
  const Expr result = multiply_add(reduced.expm1, scale, scale - number(x, 0.5)) * number(x, 2);
  return copysign(result, x);  // -0 stays -0
}

Expr log(const Expr& x, const Bind& bind) {
  return log_with_ends(x, x, log_of(decompose_any(x, bind), bind));
}

// 1 + x = 2^k * (1 + f) with f = x * 2^-k + (2^-k - 1), which is rounded once, however near to 0 it is.
Expr log1p(const Expr& x, const Bind& bind) {
  const Expr sum = bind(x + number(x, 1));
  const Expr k = decompose(sum, bind).exponent;
  const Expr scale = bind(power_of_two(-k));
  const Expr f = bind(multiply_add(x, scale, scale - number(x, 1)));
  return log_with_ends(x, sum, copysign(log_of({k, f}, bind), x));
}

// t / (t + 2) with t = exp(2|x|) - 1; beyond 10 it is 1 in f32, beyond 22 in f64.
Expr tanh(const Expr& x, const Bind& bind) {
  const Expr size = bind(tensor::min(tensor::abs(x), number(x, is_double(x) ? 22 : 10)));
  const ReducedExp reduced = reduce_exp(bind(size + size), bind);
  const Expr scale = bind(power_of_two(reduced.n));
  const Expr t = bind(multiply_add(reduced.expm1, scale, scale - number(x, 1)));
  return copysign(t / (t + number(x, 2)), x);
}

Expr erf(const Expr& x, const Bind& bind) {
  return is_double(x) ? erf_f64(x, bind) : erf_f32(x, bind);
}

// 1 / (1 + exp(-|x|)) or exp(-|x|) / (1 + exp(-|x|)), which cannot overflow. All is multiplied by a power of two that
// keeps the exponential normal where the result is denormal.
Expr sigmoid(const Expr& x, const Bind& bind) {
  const double shift = is_double(x) ? 64 : 32;
  const Expr least = number(x, range_of_exp(x).low);
  const ReducedExp reduced = reduce_exp(bind(tensor::max(-tensor::abs(x), least)), bind);
  const Expr scale = bind(power_of_two(reduced.n + number(x, shift)));
  const Expr t = bind(multiply_add(reduced.expm1, scale, scale));
  const Expr one = number(x, std::ldexp(1, static_cast<int>(shift)));
  return tensor::select(x < number(x, 0), t, one) / (t + one);
}

// Of pi/4 or pi/2 plus the arctangent of a number of at most 0.42 (f64: 0.66).
Expr atan(const Expr& x, const Bind& bind) {
  const bool wide = is_double(x);
  const Expr size = bind(tensor::abs(x));
  const Expr large = bind(number(x, 2.41421356237309505) < size);
  const Expr middle = bind(number(x, wide ? 0.66 : 0.41421356237309503) < size);
  const auto chosen = [&](const Expr& of_large, const Expr& of_middle, const Expr& of_small) {
    return tensor::select(large, of_large, tensor::select(middle, of_middle, of_small));
  };
  const Expr one = number(x, 1), zero = number(x, 0);
  const Expr a = bind(chosen(-one, size - one, size) / chosen(size, size + one, one));
  const Expr base = chosen(number(x, 1.57079632679489662), number(x, 0.78539816339744831), zero);
  const Expr z = bind(a * a);
  if (!wide) {
    const Expr p = polynomial(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1});
    return copysign(base + fma(p * z, a, a), x);
  }
  const Expr p =
      polynomial(z, {-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
                     -1.228866684490136173410e2, -6.485021904942025371773e1});
  const Expr q =
      polynomial(z, {1, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
                     4.853903996359136964868e2, 1.945506571482613964425e2});
  const Expr lost = chosen(number(x, 6.123233995736765886e-17), number(x, 3.061616997868382943e-17), zero);
  return copysign(base + (a * (z * (p / q)) + a + lost), x);
}

}  // namespace tf::passes
