#pragma once
// Owns: removal of operators that change nothing. Does not know: arithmetic.

#include "compiler/graph/graph.h"

namespace tf::graph {

// Pass. Before → after:
//   identity(x)                          → x
//   reshape(reshape(x)), reshape to x's own extents → one reshape, x
//   transpose by 0, 1, 2, …; slice of nothing; pad by 0; expand to x's own extents; cast to x's own element →
//   x
Graph remove_identities(const Graph& graph);

}  // namespace tf::graph
