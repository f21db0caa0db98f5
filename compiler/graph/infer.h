#pragma once
// Owns: the type (element and extents) of each operator's result, and what its operands must be for that.
// Does not know: how operators are computed.

#include <span>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace tf::graph {

// The results' types. INVALID_ARGUMENT says in one line what the operator wants and what it got. `op` must not
// be Input or Constant: their types are given.
absl::StatusOr<std::vector<TensorType>> infer_types(const Graph& graph, const Op& op,
                                                    std::span<const NodeId> inputs);

// The common type of operands that broadcast against each other, as in ONNX and NumPy.
absl::StatusOr<std::vector<tensor::Expr>> broadcast_extents(
    const Graph& graph, std::span<const std::vector<tensor::Expr>> operands);

}  // namespace tf::graph
