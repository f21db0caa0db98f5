#pragma once
// Owns: powers of whole numbers as multiplications. Does not know: powers of floats (polynomials.h).

#include "compiler/passes/math/polynomials.h"

namespace tf::passes {

// x^y of two i64 expressions, modulo 2^64, by squaring: two multiplications for each bit of y. A constant y
// takes as many steps as it has bits, any other 63. 0^0 is 1. For y < 0 the result is 1 / x^y cut off: 0, but
// 1 for x = 1 and 1 or -1 for x = -1; 0 also for x = 0, which has no answer. Values that are used twice are
// bound.
ir::Expr integer_power(const ir::Expr& x, const ir::Expr& y, const Bind& bind);

}  // namespace tf::passes
