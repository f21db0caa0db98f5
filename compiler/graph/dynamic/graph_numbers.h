#pragma once
// Owns: the numbers of a graph as it was imported, and whether those of a graph at other sizes follow from them. Does not
// know: programs.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/dynamic/numbers.h"
#include "compiler/graph/graph.h"

namespace tf::graph {

// Of each node: its operator, operands and numbers: extents, attributes, and the values of small constants.
struct GraphNumbers {
  struct OfNode {
    std::string op;
    std::vector<NodeId> inputs;
    std::vector<int64_t> extents, others;
  };
  std::vector<OfNode> nodes;
};
GraphNumbers numbers_of(const Graph& graph);

// For each node of the graph at those sizes, whether it is what the graphs at the points of the samples say: the same
// operator with the same operands, and numbers that are the same expressions of the sizes. False, too, for nodes that read
// others of which it is false. Empty if the graphs are not made of the same operators.
std::vector<bool> follows_from(std::span<const GraphNumbers> at_points, const Samples& samples,
                               const GraphNumbers& there, const tensor::Binding& sizes);

}  // namespace tf::graph
