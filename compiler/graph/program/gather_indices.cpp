#include "compiler/graph/program/gather_indices.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tf::graph {
namespace {

std::optional<GatherIndices> indices_of(const Graph& graph, const Node& node) {
  const auto* gather = as<Gather>(node);
  if (gather == nullptr) return std::nullopt;
  return GatherIndices{node.inputs[1], gather->axis, graph.shape(node.inputs[0])[gather->axis]};
}

// The operands whose elements are the result's, in other places or of another type of whole numbers.
std::span<const NodeId> moved_operands(const Node& node) {
  const std::span<const NodeId> all(node.inputs);
  const auto* unary = as<Unary>(node);
  if (as<Concat>(node)) return all;
  if (as<Reshape>(node) || as<Expand>(node) || as<Transpose>(node) || as<Slice>(node) || as<Gather>(node) ||
      as<Cast>(node) || (unary && unary->kind == UnaryKind::kIdentity))
    return all.first(1);
  return {};
}

}  // namespace

std::optional<GatherIndices> indices_of(const Graph& graph, const Group& group) {
  return indices_of(graph, graph.node(group.result()));
}

absl::Status check_indices(const Graph& graph, const Group& group, std::span<const int64_t> values) {
  const std::optional<GatherIndices> indices = indices_of(graph, group);
  if (!indices) return absl::OkStatus();
  for (int64_t value : values) {
    if (value < -indices->extent || value >= indices->extent)
      return absl::OutOfRangeError(absl::StrCat("node '", graph.node(group.result()).name, "': index ", value,
                                                " lies outside axis ", indices->axis, ", whose size is ",
                                                indices->extent));
  }
  return absl::OkStatus();
}

std::map<NodeId, int64_t> index_inputs(const Graph& graph) {
  std::map<NodeId, int64_t> least;  // of every node whose elements are used as indices
  const auto use = [&](NodeId id, int64_t extent) {
    const auto [known, is_new] = least.try_emplace(id, extent);
    known->second = std::min(known->second, extent);
  };
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (const auto used = least.find(NodeId(i)); used != least.end())
      for (NodeId operand : moved_operands(node)) use(operand, used->second);
    if (const auto indices = indices_of(graph, node)) use(indices->node, indices->extent);
  }
  std::erase_if(least, [&](const auto& entry) { return !as<Input>(graph.node(entry.first)); });
  return least;
}

}  // namespace tf::graph
