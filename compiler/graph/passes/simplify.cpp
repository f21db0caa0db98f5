#include <algorithm>

#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::graph {
namespace {

bool all_zero(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

bool changes_nothing(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1) return false;
  if (auto* unary = as<Unary>(node)) return unary->kind == UnaryKind::kIdentity;
  if (auto* transpose = as<Transpose>(node))
    return std::is_sorted(transpose->perm.begin(), transpose->perm.end());
  if (auto* slice = as<Slice>(node)) return slice->axes.empty();
  if (auto* pad = as<Pad>(node)) return all_zero(pad->begin) && all_zero(pad->end);
  if (as<Cast>(node)) return graph.type(node.inputs[0]).element == node.type.element;
  if (as<Reshape>(node) || as<Expand>(node)) return graph.shape(node.inputs[0]) == graph.shape(node.type);
  if (as<Concat>(node)) return true;  // of one operand
  return false;
}

}  // namespace

Graph remove_identities(const Graph& graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (changes_nothing(graph, node)) {
      rewriter.map(NodeId(i), rewriter.mapped(node.inputs[0]));
      continue;
    }
    const NodeId copy = rewriter.copy(NodeId(i));
    rewriter.map(NodeId(i), copy);
    if (!as<Reshape>(node)) continue;
    std::vector<NodeId>& inputs = rewriter.to().nodes[index(copy)].inputs;
    const Node& before = rewriter.to().node(inputs[0]);
    if (as<Reshape>(before)) inputs = before.inputs;
  }
  return std::move(rewriter).finish();
}

}  // namespace tf::graph
