#pragma once
// Owns: sizes that operators find in a run: which named dimension of the graph each is, and how large it can be. Does not
// know: how a size gets its value (the runtime), or which value a graph assumes (who makes the graph).

#include <vector>

#include "compiler/graph/graph.h"

namespace tf::graph {

// The dimension whose value the node finds; null if it finds none.
const tensor::VarNode* found_by(const Node& node);

// Of a node that finds a size: the greatest that its operands' extents allow.
int64_t most_found(const Graph& graph, const Node& node);

// Every dimension that a node of the graph finds, from 0 to the most, in the nodes' order.
std::vector<tensor::Dimension> found_dims(const Graph& graph);

// UNIMPLEMENTED if a node of the graph finds a size: what the graph says is then right for one value of it alone.
absl::Status check_sizes_are_known(const Graph& graph);

// For each node, whether its extents or values depend on what a node finds.
std::vector<bool> depends_on_found(const Graph& graph);

}  // namespace tf::graph
