#pragma once
// Owns: the value of an operator whose operands are constants. Small shape arithmetic while a model is read,
// and weights that a pass rewrites, both come through here. Does not know: convolutions and other operators
// worth a kernel.

#include <span>

#include "compiler/graph/graph.h"

namespace tf::graph {

// The bytes of op(inputs), of type `result` (as infer_type gave it); null if an input is not a constant or
// the operator is not one that is folded: those that move elements, element-wise ones, and reductions are.
BlobRef fold(const Graph& graph, const Op& op, std::span<const NodeId> inputs, const TensorType& result);

// Every node whose operands are constants becomes a constant (pass).
Graph fold_constants(const Graph& graph);

}  // namespace tf::graph
