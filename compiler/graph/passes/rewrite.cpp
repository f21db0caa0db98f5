#include "compiler/graph/passes/rewrite.h"

#include "base/check.h"
#include "compiler/graph/found.h"

namespace tf::graph {

Rewriter::Rewriter(const Graph& from) : from_(from), map_(from.nodes.size(), NodeId(-1)) {
  to_.name = from.name;
  to_.dims = from.dims;
  to_.binding = from.binding;
  to_.nodes.reserve(from.nodes.size());
}

std::vector<NodeId> Rewriter::mapped(const std::vector<NodeId>& old) const {
  std::vector<NodeId> now;
  for (NodeId id : old) now.push_back(mapped(id));
  return now;
}

NodeId Rewriter::copy(NodeId old) {
  Node node = from_.node(old);
  node.inputs = mapped(node.inputs);
  to_.nodes.push_back(std::move(node));
  return NodeId(to_.nodes.size() - 1);
}

NodeId Rewriter::add(Op op, std::vector<NodeId> inputs, const std::string& name) {
  absl::StatusOr<NodeId> id = to_.add(std::move(op), std::move(inputs), name);
  TF_CHECK(id.ok()) << id.status().message();
  return *id;
}

Graph Rewriter::finish() && {
  for (const Output& output : from_.outputs) to_.outputs.push_back({output.name, mapped(output.node)});
  return remove_dead_code(to_);
}

Graph remove_dead_code(const Graph& graph) {
  std::vector<bool> needed = is_output(graph);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    // What is found may be the extent of others that read it no more.
    if (as<Input>(graph.nodes[i]) || found_by(graph.nodes[i])) needed[i] = true;
    if (!needed[i]) continue;
    for (NodeId input : graph.nodes[i].inputs) needed[index(input)] = true;
  }
  Graph kept{graph.name, graph.dims, graph.binding, {}, {}};
  std::vector<NodeId> map(graph.nodes.size(), NodeId(-1));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    Node node = graph.nodes[i];
    for (NodeId& input : node.inputs) input = map[index(input)];
    map[i] = NodeId(kept.nodes.size());
    kept.nodes.push_back(std::move(node));
  }
  for (const Output& output : graph.outputs) kept.outputs.push_back({output.name, map[index(output.node)]});
  return kept;
}

}  // namespace tf::graph
