#pragma once
// Owns: exp, log, tanh, erf and friends as expressions of plain arithmetic, min, max, select, rounding, fma,
// copysign, ldexp, logb and significand; of f32 and of f64, scalars and vectors alike. Does not know: statements.
//
// Errors are at most 4 units in the last place over the whole range, denormal operands and results included;
// infinities, NaN and signs of zeros are as in C. docs/reference/numerics.md has the measured errors.

#include "compiler/passes/math/formula.h"

namespace tf::passes {

// The arguments are already bound (variables or constants) and of the element in the name.
ir::Expr exp_f32(const ir::Expr& x, const Bind& bind);
ir::Expr expm1_f32(const ir::Expr& x, const Bind& bind);
ir::Expr log_f32(const ir::Expr& x, const Bind& bind);
ir::Expr log1p_f32(const ir::Expr& x, const Bind& bind);
ir::Expr tanh_f32(const ir::Expr& x, const Bind& bind);
ir::Expr erf_f32(const ir::Expr& x, const Bind& bind);
ir::Expr sigmoid_f32(const ir::Expr& x, const Bind& bind);

ir::Expr exp_f64(const ir::Expr& x, const Bind& bind);
ir::Expr expm1_f64(const ir::Expr& x, const Bind& bind);
ir::Expr log_f64(const ir::Expr& x, const Bind& bind);
ir::Expr log1p_f64(const ir::Expr& x, const Bind& bind);
ir::Expr tanh_f64(const ir::Expr& x, const Bind& bind);
ir::Expr erf_f64(const ir::Expr& x, const Bind& bind);
ir::Expr sigmoid_f64(const ir::Expr& x, const Bind& bind);

// exp(r) for an f64 r with |r| <= ln(2)/2, which powers need too.
ir::Expr exp_reduced_f64(const ir::Expr& r, const Bind& bind);

}  // namespace tf::passes
