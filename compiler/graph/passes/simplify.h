#pragma once
// Owns: removal of operators that change nothing. Does not know: arithmetic.

#include "compiler/graph/graph.h"

namespace tf::graph {

// Pass. Before → after:
//   identity(x)                       → x
//   reshape(reshape(x))               → one reshape
//   reshape to x's own extents        → x
//   transpose by 0, 1, 2, …           → x
//   slice that takes everything       → x
//   pad by 0                          → x
//   expand to x's own extents         → x
//   cast to x's own element           → x
Graph remove_identities(const Graph& graph);

}  // namespace tf::graph
