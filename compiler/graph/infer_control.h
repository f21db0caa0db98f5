#pragma once
// Owns: types of operators that run regions.

#include "compiler/graph/infer.h"

namespace tf::graph {

// As infer_types.
absl::StatusOr<std::vector<TensorType>> infer_if(const Graph& graph, const If& op,
                                                 std::span<const NodeId> inputs);
absl::StatusOr<std::vector<TensorType>> infer_loop(const Graph& graph, const Loop& op,
                                                   std::span<const NodeId> inputs);

}  // namespace tf::graph
