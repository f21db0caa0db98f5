#pragma once
// Owns: the pass that replaces functions that no back end has by arithmetic.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// exp, expm1, log, log1p, tanh, erf, sigmoid, sin, cos and pow become the expressions of polynomials.h,
// circular.h and power.h, with a let for each value that is used more than once. f16 and bf16 are computed in
// f32. Loads must be safe by themselves.
//
//   t0[i] = exp(a[i] + 1)    →    let x = a[i] + 1
//                                 let n = round(min(max(x, -104), 89) * 1.442695) …
//                                 t0[i] = ldexp(…, n)
ir::Function expand_math(const ir::Function& function);

}  // namespace tf::passes
