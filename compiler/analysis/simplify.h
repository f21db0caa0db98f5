#pragma once
// Owns: simplification of expressions and statements by exact integer reasoning. Does not know: schedules,
// targets. What it returns means the same as what it got, for all values in the given ranges; it prints the
// same on every run; it is linear in the input's size but for the (short) sums that it compares.
//
// Integers (i64): sums become canonical linear forms, floor_div and floor_mod by constants take multiples of
// the divisor apart: with 0 <= i < 16
//   (o*16 + i) // 16 → o        (o*16 + i) % 16 → i         o*16 + i < 96 → o < 6
//   (o*8 + j) % 16 → (o%2)*8 + j  where 0 <= j < 8          (x//4)*4 + x%4 → x
// That is so because indices do not overflow. What is loaded can be any number, and sums of it wrap: with a
// load in place of o all but the last stay as they are, unless bounds keep it small.
// Comparisons, min, max and select fold where intervals or enclosing conditions decide them. Vectors are
// treated lane-wise: ramp(o*16, 1, 16) // 16 → broadcast(o, 16); ramp(o*16, 1, 16) < broadcast(96, 16) →
// broadcast(o < 6, 16). Floats are never reassociated. A load whose indices and predicate are the same in all
// lanes becomes a broadcast of a scalar load.
//
// Statements: loops of extent 1 and trivial lets are substituted, loops of extent 0, branches that cannot run
// and empty bodies go away, conditions of enclosing branches are used inside them.

#include "compiler/analysis/bounds.h"
#include "compiler/ir/stmt.h"

namespace tf::analysis {

Expr simplify(const Expr& expr, const RangeMap& ranges = {});
ir::Stmt simplify(const ir::Stmt& stmt, const RangeMap& ranges = {});
// Ranges are those of the named dimensions.
ir::Function simplify(const ir::Function& function, const RangeMap& ranges = {});

// Like interval_of, after simplification: x - x is exactly 0.
Interval tight_interval_of(const Expr& expr, const RangeMap& ranges);

}  // namespace tf::analysis
