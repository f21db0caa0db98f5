#pragma once
// Owns: exp, log, tanh, erf and friends as expressions of plain arithmetic, min, max, select, rounding, fma,
// copysign, ldexp, logb and significand; scalars and vectors alike. Does not know: statements.
//
// Unless said otherwise, x and y are bound (variables or constants) and of f32 or f64; errors are at most 4 units in
// the last place over the whole range, denormal operands and results included; infinities, NaN and signs of zeros
// are as in C. docs/reference/numerics.md has the measured errors.

#include "compiler/passes/math/formula.h"

namespace tf::passes {

ir::Expr exp(const ir::Expr& x, const Bind& bind);
ir::Expr expm1(const ir::Expr& x, const Bind& bind);
ir::Expr log(const ir::Expr& x, const Bind& bind);
ir::Expr log1p(const ir::Expr& x, const Bind& bind);
ir::Expr tanh(const ir::Expr& x, const Bind& bind);
ir::Expr erf(const ir::Expr& x, const Bind& bind);
ir::Expr sigmoid(const ir::Expr& x, const Bind& bind);
ir::Expr atan(const ir::Expr& x, const Bind& bind);

// exp(r) for an f64 r with |r| <= ln(2)/2, which powers need too.
ir::Expr exp_reduced_f64(const ir::Expr& r, const Bind& bind);

// For every finite argument. It is multiplied by 2/pi modulo 4. The bits of 2/pi that matter depend on the argument's
// exponent: selects take them from a short table, so that vectors need no branch (after M. Payne and R. Hanek,
// "Radian reduction for trigonometric functions", 1983). Next to a zero of the function, an f64 beyond 2^52 may be off
// by more than other results: its argument is reduced with an error below 2^-60.
ir::Expr sin(const ir::Expr& x, const Bind& bind);
ir::Expr cos(const ir::Expr& x, const Bind& bind);

// x^y. Special values are those of C (ISO/IEC 9899, F.10.4.4). f32 is computed in f64 and off by at most 1 unit in the
// last place; f64 takes a logarithm of two parts and is off by at most 40, less than a relative 1e-14. Small constant
// exponents become products and square roots.
ir::Expr power(const ir::Expr& x, const ir::Expr& y, const Bind& bind);

// x - y * trunc(x / y), exact, by long division in base 2^50: 6 digits for f32, which is computed in f64, and 42 for f64.
ir::Expr remainder(const ir::Expr& x, const ir::Expr& y, const Bind& bind);

// x^y of two i64 expressions, modulo 2^64, by squaring: two multiplications for each bit of y. A constant y
// takes as many steps as it has bits, any other 63. 0^0 is 1. For y < 0 the result is 1 / x^y cut off: 0, but
// 1 for x = 1 and 1 or -1 for x = -1; 0 also for x = 0, which has no answer. Values that are used twice are
// bound.
ir::Expr integer_power(const ir::Expr& x, const ir::Expr& y, const Bind& bind);

}  // namespace tf::passes
