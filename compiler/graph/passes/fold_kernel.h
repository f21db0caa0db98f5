#pragma once
// Owns: folding by evaluation of the kernel that a node would become, for operators that no rule of fold.h folds.

#include <span>

#include "compiler/graph/graph.h"

namespace tf::graph {

// As graph::fold, of any operator whose kernel is little work; null for others, and for gathers, whose indices are
// checked elsewhere. Floats are computed in double and rounded once.
BlobRef fold_kernel(const Graph& graph, const Op& op, std::span<const NodeId> inputs,
                    const TensorType& result);

}  // namespace tf::graph
