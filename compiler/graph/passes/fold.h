#pragma once
// Owns: the value of an operator whose operands are constants. Small shape arithmetic while a model is read,
// and weights that a pass rewrites, both come through here.

#include <span>

#include "compiler/graph/graph.h"

namespace tf::graph {

// The bytes of op(inputs), of type `result` (as infer_type gave it); null if an input is not a constant. Operators
// that move elements, element-wise ones and reductions are always folded, others where that is little work
// (fold_kernel.h).
BlobRef fold(const Graph& graph, const Op& op, std::span<const NodeId> inputs, const TensorType& result);

// Every node whose operands are constants becomes a constant (pass).
Graph fold_constants(const Graph& graph);

}  // namespace tf::graph
