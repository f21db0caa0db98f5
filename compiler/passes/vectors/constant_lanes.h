#pragma once
// Owns: what is known of a vector's lanes while code is compiled. Does not know: statements.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tensor/expr.h"

namespace tf::passes {

// The integer in each lane, if all are known; a scalar counts for every lane.
std::optional<std::vector<int64_t>> constant_lanes(const tensor::Expr& expr, int lanes);

// In which lanes a condition may hold: all but those in which it is known not to.
std::vector<bool> may_hold(const tensor::Expr& condition, int lanes);

}  // namespace tf::passes
