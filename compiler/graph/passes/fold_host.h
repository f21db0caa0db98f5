#pragma once
// Owns: the values of operators that host functions compute, of constants.

#include "compiler/graph/passes/fold.h"

namespace tf::graph {

// As fold(); null too for an operator with several results, for random numbers, and where an index lies outside of its
// axis, which the model says when it runs.
BlobRef fold_host(const Graph& graph, const Op& op, std::span<const NodeId> inputs, const TensorType& result);

}  // namespace tf::graph
