#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "compiler/passes/math/functions.h"

namespace tf::passes {
namespace {

using namespace formula;  // NOLINT(google-build-using-namespace): these files speak of little else.

// The logarithm of a size, -inf of zero and itself of infinity and NaN.
Expr with_ends(const Expr& size, const Expr& log) {
  const Expr of_finite = tensor::select(number(size, 0) < size, log, number(size, -kInfinity));
  return tensor::select(size < number(size, kInfinity), of_finite, size);
}

// size^y in f64 for operands that came from f32; good for 34 bits.
Expr magnitude_f32(const Expr& size, const Expr& y, const Bind& bind) {
  const Decomposed d = decompose(size, bind);
  const Expr p = polynomial(
      d.fraction, {-0x1.1da81d017de9dp-4, 0x1.0f6394b9a4b35p-3, -0x1.13b8e8d85cb4bp-3, 0x1.0acdc2031b8aap-3,
                   -0x1.23d637d044cb1p-3, 0x1.481faedcc954bp-3, -0x1.7188d523ed261p-3, 0x1.a61b7dd621447p-3,
                   -0x1.ec6f2dee169c3p-3, 0x1.2776b6cc9a7aep-2, -0x1.715478885f4d9p-2, 0x1.ec709de33dcefp-2,
                   -0x1.71547651b6f4ap-1, 0x1.71547652b58f4p0});
  const Expr log2 = bind(with_ends(size, p * d.fraction + d.exponent));
  // An exponent beyond 2^70 does what an infinite one does, but for 0 * infinity.
  const Expr product = bind(clamped(bind(clamped(y, -0x1p70, 0x1p70)) * log2, -160, 130));
  const Expr n = bind(nearest(product));
  const Expr r = bind(product - n);
  const Expr q =
      polynomial(r, {0x1.ffcbdd8e1778ep-17, 0x1.443f620076d32p-13, 0x1.5d88bdb12b329p-10,
                     0x1.3b2a1c3666ce3p-7, 0x1.c6b08cb16834ap-5, 0x1.ebfbe045300dp-3, 0x1.62e42fefd32c2p-1});
  return ldexp(q * r + number(r, 1), n);
}

// A value and what its rounding lost.
struct Exact {
  Expr high, low;
};
// Products are fused steps even where nothing is added: else a back end might fuse them into sums, and what
// was lost would count twice.
Exact product(const Expr& a, const Expr& b, const Bind& bind) {
  const Expr high = bind(fma(a, b, number(a, 0)));
  return {high, bind(fma(a, b, -high))};
}

// log2 of a positive normal size, with about 56 bits.
Exact log2_exactly(const Decomposed& d, const Bind& bind) {
  const Expr& f = d.fraction;
  const Expr one = number(f, 1), two = number(f, 2);
  // log(1 + f) = 2 * atanh(s), s = f / (2 + f)
  const Expr divisor = bind(f + two);
  const Expr divisor_low = f - (divisor - two);
  const Expr s = bind(f / divisor);
  const Expr s_low = (fma(-s, divisor, f) - s * divisor_low) / divisor;
  const Expr square = bind(s * s);
  const Expr rest =
      square * polynomial(square, {0x1.2b5949cfe9c75p-3, 0x1.39fe4eb5b695ap-3, 0x1.7462b50a97c71p-3,
                                   0x1.c71c62e541c4ep-3, 0x1.2492492defb07p-2, 0x1.999999999531cp-2,
                                   0x1.5555555555558p-1});
  const Expr log_low = bind(fma(s, rest, s_low * two));
  const Exact scaled = product(bind(s + s), number(f, 0x1.71547652b82fep+0), bind);
  const Expr scaled_low =
      scaled.low + (log_low * number(f, 0x1.71547652b82fep+0) + s * number(f, 2 * 0x1.777d0ffda0d24p-56));
  const Expr sum = bind(d.exponent + scaled.high);
  const Expr low = bind((scaled.high - (sum - d.exponent)) + scaled_low);
  const Expr high = bind(sum + low);
  return {high, bind(low - (high - sum))};
}

Expr magnitude_f64(const Expr& size, const Expr& y, const Bind& bind) {
  const Exact log = log2_exactly(decompose_any(size, bind), bind);
  const Expr exponent = bind(clamped(y, -0x1p70, 0x1p70));
  const Exact whole = product(exponent, log.high, bind);
  // Of the ends of the range, and beyond what a result can be, only the sign counts.
  const Expr lost = clamped(fma(exponent, log.low, whole.low), -1, 1);
  const Expr regular =
      tensor::select(tensor::logical_and(number(size, 0) < size, size < number(size, kInfinity)), whole.high,
                     exponent * with_ends(size, number(size, 0)));
  const Expr total = bind(clamped(regular, -1100, 1100));
  const Expr n = bind(nearest(total));
  const Expr r = bind(((total - n) + lost) * number(size, 0.693147180559945309));
  return ldexp(exp_reduced_f64(r, bind), n);
}

// The magnitude with the sign and the exceptions that C wants.
Expr with_special_values(const Expr& x, const Expr& y, const Expr& magnitude, const Bind& bind) {
  const Expr zero = number(x, 0), one = number(x, 1);
  const Expr half = bind(y * number(x, 0.5));
  const Expr is_whole = bind(tensor::equal(y, floor(y)));
  const Expr is_odd = tensor::logical_and(is_whole, tensor::not_equal(half, floor(half)));
  const Expr is_signed = tensor::select(is_odd, copysign(magnitude, x), magnitude);
  const Expr is_undefined = tensor::logical_and(tensor::logical_and(x < zero, number(x, -kInfinity) < x),
                                                tensor::logical_not(is_whole));
  const Expr is_one = tensor::logical_or(tensor::equal(y, zero), tensor::equal(x, one));
  return tensor::select(is_one, one, tensor::select(is_undefined, number(x, kNaN), is_signed));
}

// x^0.5: unlike the square root of C, +0 of -0 and infinity of -infinity.
Expr half_power(const Expr& x) {
  const Expr root = tensor::abs(tensor::call(Intrinsic::kSqrt, {x}));
  return tensor::select(tensor::equal(x, number(x, -kInfinity)), number(x, kInfinity), root);
}

}  // namespace

Expr power(const Expr& x, const Expr& y, const Bind& bind) {
  const Expr scalar = tensor::as<ir::Broadcast>(y) ? tensor::as<ir::Broadcast>(y)->value : y;
  if (const auto* exponent = tensor::as<ir::FloatImm>(scalar)) {
    const double value = exponent->value;
    if (value == 0) return number(x, 1);
    if (value == 1) return x;
    if (value == 2) return x * x;
    if (value == 3) return x * x * x;
    if (value == -1) return number(x, 1) / x;
    if (value == 0.5) return half_power(x);
    if (value == -0.5) return number(x, 1) / half_power(x);
    if (value == 0.75) {
      const Expr half = bind(half_power(x));
      return half * tensor::call(Intrinsic::kSqrt, {half});
    }
  }
  const ir::Type wide{Element::kFloat64, 1};
  const Expr size = bind(tensor::abs(tensor::cast(wide, x)));
  const Expr magnitude =
      is_double(x) ? magnitude_f64(size, y, bind) : magnitude_f32(size, bind(tensor::cast(wide, y)), bind);
  return with_special_values(x, y, bind(tensor::cast({x->type().element, 1}, magnitude)), bind);
}

ir::Expr integer_power(const ir::Expr& x, const ir::Expr& y, const Bind& bind) {
  using tensor::floor_div;
  using tensor::floor_mod;
  using tensor::select;
  const auto number = [&](int64_t value) { return tensor::cast(x->type(), tensor::imm(value)); };
  const ir::Expr one = number(1), zero = number(0);
  const std::optional<int64_t> known = tensor::as_int(y);
  const int bits = known ? std::bit_width(static_cast<uint64_t>(std::max<int64_t>(*known, 0))) : 63;
  ir::Expr result = one, square = x;
  for (int bit = 0; bit < bits; ++bit) {
    if (bit > 0) square = bind(square * square);
    const bool first = bit == 0;
    const ir::Expr product = first ? square : result * square;
    if (known) {
      if ((*known >> bit & 1) != 0) result = bind(product);
      continue;
    }
    const ir::Expr is_set = not_equal(floor_mod(floor_div(y, number(int64_t{1} << bit)), number(2)), zero);
    result = bind(select(is_set, product, result));
  }
  if (known && *known >= 0) return result;
  const ir::Expr minus_one = number(-1);
  const ir::Expr odd = not_equal(floor_mod(y, number(2)), zero);
  const ir::Expr reciprocal =
      select(equal(x, one), one, select(equal(x, minus_one), select(odd, minus_one, one), zero));
  return select(y < zero, reciprocal, result);
}

}  // namespace tf::passes
