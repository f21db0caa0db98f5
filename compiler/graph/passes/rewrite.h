#pragma once
// Owns: the frame of a pass: a new graph that grows beside the old one, and which new node stands for which
// old one.

#include <vector>

#include "compiler/graph/graph.h"

namespace tf::graph {

// Visit the old graph's nodes in order and map each to a node of to(); then finish().
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);
  const Graph& from() const { return from_; }
  Graph& to() { return to_; }
  void map(NodeId old, NodeId replacement) { map_[index(old)] = replacement; }
  NodeId mapped(NodeId old) const { return map_[index(old)]; }
  std::vector<NodeId> mapped(const std::vector<NodeId>& old) const;
  // The old node with mapped operands, appended; does not map it.
  NodeId copy(NodeId old);
  // Appends; that the operands fit is the pass's promise.
  NodeId add(Op op, std::vector<NodeId> inputs, const std::string& name);
  // The new graph with the old one's outputs, without nodes that nothing needs.
  Graph finish() &&;

 private:
  const Graph& from_;
  Graph to_;
  std::vector<NodeId> map_;
};

// Drops nodes that no output needs; inputs stay, they are the model's interface (pass).
Graph remove_dead_code(const Graph& graph);

}  // namespace tf::graph
