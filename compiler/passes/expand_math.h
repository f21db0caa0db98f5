#pragma once
// Owns: the pass that replaces functions that no back end has by polynomials.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// exp, log, tanh, erf, sigmoid, sin, cos and pow of f32 (f16 and bf16 through f32) become
// the expressions of polynomials.h, with a let for each value that is used more than once; pow with a small
// constant exponent becomes products and square roots. Calls on f64 stay. Loads must be safe by themselves.
//
//   t0[i] = tanh(a[i] + 1)    →    let x = a[i] + 1
//                                  let size = abs(x) …
//                                  t0[i] = select(0.625 <= size, …, …)
ir::Function expand_math(const ir::Function& function);

}  // namespace tf::passes
