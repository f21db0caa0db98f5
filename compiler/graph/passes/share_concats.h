#pragma once
// Owns: concatenations that begin alike. Does not know: where values lie.

#include "compiler/graph/graph.h"

namespace tf::graph {

// Pass. If the first operands of a concatenation are already joined by another one, it takes that one's result in
// their place. Each operand is then part of one concatenation and can be made in place there. Dense blocks need
// this: every layer reads all layers before it.
//   c = concat(a, b), d = concat(a, b, x)   →   c = concat(a, b), d = concat(c, x)
Graph share_concats(const Graph& graph);

}  // namespace tf::graph
