#pragma once
// Owns: powers of f32 and f64 as expressions like those of polynomials.h. Does not know: statements.
//
// Special values are those of C (ISO/IEC 9899, F.10.4.4). f32 is computed in f64 and off by at most 1 unit in
// the last place; f64 takes a logarithm of two parts and is off by at most 40,
// less than a relative 1e-14.

#include "compiler/passes/math/formula.h"

namespace tf::passes {

// x and y are bound, of f32 or f64. Small constant exponents become products and square roots.
ir::Expr power(const ir::Expr& x, const ir::Expr& y, const Bind& bind);

}  // namespace tf::passes
