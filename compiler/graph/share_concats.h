#pragma once
// Owns: concatenations that begin alike. Does not know: where values lie.

#include "compiler/graph/graph.h"

namespace tf::graph {

// Pass. A concatenation whose first operands another one joins already takes that one's result in their place, so that
// each operand is part of one concatenation, in which it can be made in place (dense blocks, where every layer reads all
// before it):
//   c = concat(a, b), d = concat(a, b, x)   →   c = concat(a, b), d = concat(c, x)
Graph share_concats(const Graph& graph);

}  // namespace tf::graph
