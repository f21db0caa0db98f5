#pragma once
// Owns: exp, log, tanh, erf and friends for f32 as expressions of plain arithmetic, min, max, select, floor,
// fma, sqrt, ldexp and logb; scalars and vectors alike. Does not know: statements.
//
// Errors are those of the method with exact fused multiply-adds, measured in tests/unit/compiler/passes: at
// most 4 units in the last place, erf 6 (sin and cos: for |x| <= 1e5; pow: for |y * log2 x| <= 126),
// infinities, NaN and signs as in C; denormal results may be 0, denormal operands may count as 0.

#include <functional>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Names a value that is used more than once; returns the variable.
using Bind = std::function<ir::Expr(const ir::Expr&)>;

// The arguments are f32 and already bound (variables or constants).
ir::Expr exp_f32(const ir::Expr& x, const Bind& bind);
ir::Expr log_f32(const ir::Expr& x, const Bind& bind);
ir::Expr tanh_f32(const ir::Expr& x, const Bind& bind);
ir::Expr erf_f32(const ir::Expr& x, const Bind& bind);
ir::Expr sigmoid_f32(const ir::Expr& x, const Bind& bind);
ir::Expr sin_f32(const ir::Expr& x, const Bind& bind);
ir::Expr cos_f32(const ir::Expr& x, const Bind& bind);
ir::Expr pow_f32(const ir::Expr& x, const ir::Expr& y, const Bind& bind);

}  // namespace tf::passes
