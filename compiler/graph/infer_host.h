#pragma once
// Owns: types of operators that host functions compute.

#include "compiler/graph/infer.h"

namespace tf::graph {

// As infer_types.
absl::StatusOr<std::vector<TensorType>> infer_host(const Graph& graph, const Op& op,
                                                   std::span<const NodeId> inputs);

}  // namespace tf::graph
