#pragma once
// Owns: what every user of a graph relies on, as an executable check. Does not know: how a graph was made.

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace tf::graph {

// Operands stand before their readers; every type is what infer_type says; a constant's bytes fill its type;
// every dimension has a value in its range; there is an output, and outputs have different names.
// INVALID_ARGUMENT names the node.
absl::Status verify(const Graph& graph);

}  // namespace tf::graph
