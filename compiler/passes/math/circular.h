#pragma once
// Owns: sin and cos, for every finite argument, as expressions like those of polynomials.h. Does not know:
// statements.
//
// An argument is multiplied by 2/pi modulo 4. The bits of 2/pi that matter depend on the argument's exponent:
// selects take them from a short table, so that vectors need no branch (after M. Payne and R. Hanek, "Radian
// reduction for trigonometric functions", 1983).
//
// Results are at most 4 units in the last place off. Next to a zero of the function, an f64 beyond 2^52 may be
// off by more: its argument is reduced with an error below 2^-60.

#include "compiler/passes/math/formula.h"

namespace tf::passes {

enum class Circular { kSin, kCos };

// x is bound, of f32 or f64. Of infinities NaN.
ir::Expr circular(Circular function, const ir::Expr& x, const Bind& bind);

}  // namespace tf::passes
