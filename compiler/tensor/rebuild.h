#pragma once
// Owns: building expressions by an operator that is a value, for those who take nodes apart and put them
// together again. Does not know: who that is.

#include "compiler/tensor/workload.h"

namespace tf::tensor {

// What the building function of that operator gives (expr.h).
Expr binary(BinaryOp op, const Expr& a, const Expr& b);

// The operator of two values that `combine` (workload.h) applies.
BinaryOp operation_of(Combiner combiner);

// A scalar as so many equal lanes; an expression that has as many unchanged.
Expr widened(const Expr& expr, int lanes);

}  // namespace tf::tensor
