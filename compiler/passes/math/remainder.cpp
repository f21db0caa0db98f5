#include <vector>

#include "compiler/passes/math/functions.h"

namespace tf::passes {
namespace {

using namespace formula;  // NOLINT(google-build-using-namespace): these files speak of little else.

// 2^50: quotients below it have a fraction, and their products with y leave a rest that is exact.
constexpr double kBase = 0x1p50;

// |x| modulo |y| in f64, by `digits` digits of the quotient, the highest first. Each rest is a multiple of the last
// bit of what was subtracted, and so is exact; a quotient that was rounded up leaves a negative rest.
Expr long_division(const Expr& x, const Expr& y, int digits, const Bind& bind) {
  std::vector<Expr> divisors = {y};
  for (int i = 1; i < digits; ++i) divisors.push_back(bind(divisors.back() * number(y, kBase)));
  Expr rest = x;
  for (int i = digits; i-- > 0;) {
    const Expr& divisor = divisors[static_cast<size_t>(i)];
    const Expr quotient = bind(floor(bind(rest / divisor)));
    const Expr next = bind(fma(-quotient, divisor, rest));
    const Expr corrected = tensor::select(next < number(x, 0), next + divisor, next);
    rest = bind(tensor::select(rest < divisor, rest, corrected));
  }
  return rest;
}

}  // namespace

Expr remainder(const Expr& x, const Expr& y, const Bind& bind) {
  const ir::Type wide{Element::kFloat64, 1};
  const bool is_wide = is_double(x);
  const Expr a = bind(tensor::abs(is_wide ? x : tensor::cast(wide, x)));
  const Expr b = bind(tensor::abs(is_wide ? y : tensor::cast(wide, y)));
  const Expr rest = long_division(a, b, is_wide ? 42 : 6, bind);
  return copysign(is_wide ? rest : tensor::cast({Element::kFloat32, 1}, rest), x);
}

}  // namespace tf::passes
