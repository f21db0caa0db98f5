#pragma once
// Owns: the sizes at which a program with quotients is confirmed. Does not know: how.

#include <set>

#include "compiler/graph/program/program.h"

namespace tf::graph {

// Values of the dimension within its range on both sides of a change of each quotient floor((dimension + c) / s) in the
// program, near the least value and in the middle of the range. A quotient with another c differs at one of these.
std::set<int64_t> sizes_where_quotients_change(const Program& program, const NamedDimension& dim);

}  // namespace tf::graph
