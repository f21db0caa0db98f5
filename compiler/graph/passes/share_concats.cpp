#include <map>

#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::graph {

Graph share_concats(const Graph& graph) {
  Rewriter rewriter(graph);
  // The operands that each concatenation so far joins, in the old graph.
  std::map<std::pair<int64_t, std::vector<NodeId>>, NodeId> known;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id = NodeId(i);
    const Node& node = graph.nodes[i];
    const auto* concat = as<Concat>(node);
    if (!concat) {
      rewriter.map(id, rewriter.copy(id));
      continue;
    }
    std::vector<NodeId> inputs = rewriter.mapped(node.inputs);
    std::vector<NodeId> begin = node.inputs;
    while (begin.size() > 2) {
      begin.pop_back();
      const auto found = known.find({concat->axis, begin});
      if (found == known.end()) continue;
      inputs.erase(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(begin.size()));
      inputs.insert(inputs.begin(), rewriter.mapped(found->second));
      break;
    }
    rewriter.map(id, rewriter.add(*concat, std::move(inputs), node.name));
    known.try_emplace({concat->axis, node.inputs}, id);
  }
  return std::move(rewriter).finish();
}

}  // namespace tf::graph
