#pragma once
// Owns: intervals of f32 and f64 expressions, given the ranges of their variables. Does not know: statements,
// integers, whether a value may be NaN.

#include <limits>
#include <map>

#include "compiler/ir/stmt.h"

namespace tf::analysis {

// The numbers from min to max, both inclusive, and NaN, which may always occur.
struct FloatInterval {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();

  bool operator==(const FloatInterval&) const = default;
};

// What is known of each variable; a variable that is not in the map can have any value.
using FloatRangeMap = std::map<const ir::VarNode*, FloatInterval>;

// The values that a float expression can have, over all lanes, as its type rounds them: ends are rounded outwards. Each
// operand is taken by itself. Functions without a rule here, loads, f16 and bf16 give everything.
FloatInterval float_interval_of(const ir::Expr& expr, const FloatRangeMap& ranges);

}  // namespace tf::analysis
