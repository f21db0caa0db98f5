#pragma once
// Owns: types of operators that host functions compute.

#include "compiler/graph/infer.h"

namespace tf::graph {

// As infer_types.
absl::StatusOr<std::vector<TensorType>> infer_host(const Graph& graph, const Op& op,
                                                   std::span<const NodeId> inputs);

// INVALID_ARGUMENT, with the operand, if NonMaxSuppression cannot take these five operands.
absl::Status check_non_max_suppression(const Graph& graph, std::span<const NodeId> operands);

}  // namespace tf::graph
