#include "compiler/graph/layouts/channels_last.h"

#include <algorithm>

namespace tf::graph {
namespace {

// A reduction's threads each add up all pixels of a channel.
constexpr int64_t kMostPixels = 64;

enum class Kind { kOther, kDense, kPerChannel, kFewPixels };

bool is_element_wise(const Node& node) {
  return as<Unary>(node) || as<LeakyRelu>(node) || as<Clip>(node) || as<Binary>(node) || as<Where>(node) ||
         as<Cast>(node) || as<BatchNorm>(node);
}

class Rules {
 public:
  Rules(const Graph& graph, const std::vector<PlannedGroup>& groups,
        const std::vector<tensor::Element>& elements, int64_t lanes)
      : graph_(graph), groups_(groups), elements_(elements), lanes_(lanes), may_(graph.nodes.size()) {}

  std::vector<bool> may() {
    for (const PlannedGroup& group : groups_) {
      const NodeId result = group.group.result();
      may_[index(result)] = is_candidate(result);
    }
    const std::vector<bool> outputs = is_output(graph_);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (outputs[i]) may_[i] = false;
      if (is_view(node) || is_runtime_call(node))
        for (const NodeId input : node.inputs) may_[index(input)] = false;
    }
    while (std::ranges::any_of(groups_, [&](const PlannedGroup& group) { return restrict(group); })) {
    }
    return may_;
  }

 private:
  std::vector<int64_t> shape(NodeId id) const { return graph_.shape(id); }
  static int64_t pixels(const std::vector<int64_t>& shape) {
    int64_t all = 1;
    for (size_t axis = 2; axis < shape.size(); ++axis) all *= shape[axis];
    return all;
  }

  bool is_candidate(NodeId id) const {
    const TensorType& type = graph_.type(id);
    if (type.rank() != 4 || std::ranges::count(elements_, type.element) == 0) return false;
    const std::vector<int64_t> extents = shape(id);
    return extents[1] >= lanes_ && extents[1] % lanes_ == 0 && pixels(extents) > 1;
  }

  // Whether its elements lie in the same order with channels last: there is one pixel, or it is a constant's or scalar's.
  bool has_no_order(NodeId id) const {
    if (graph_.type(id).rank() != 4) return as<Constant>(graph_.node(id)) || graph_.type(id).rank() == 0;
    return pixels(shape(id)) == 1;
  }

  Kind kind_of(const Group& group) const {
    Kind kind = Kind::kPerChannel;
    for (const NodeId id : group.nodes) {
      const Node& node = graph_.node(id);
      if (is_element_wise(node)) continue;
      const bool is_first = id == group.nodes.front();
      if (!is_first || graph_.type(node.inputs[0]).rank() != 4) return Kind::kOther;
      if (const auto* conv = as<Conv>(node)) {
        if (!as<Constant>(graph_.node(node.inputs[1]))) return Kind::kOther;
        const std::vector<int64_t> weights = shape(node.inputs[1]);
        if (conv->groups == 1)
          kind = Kind::kDense;
        else if (weights[1] != 1 || weights[0] != conv->groups)
          return Kind::kOther;
      } else if (const auto* reduce = as<Reduce>(node)) {
        if (reduce->axes != std::vector<int64_t>{2, 3} || pixels(shape(node.inputs[0])) > kMostPixels)
          return Kind::kOther;
        kind = Kind::kFewPixels;
      } else if (!as<Pool>(node)) {
        return Kind::kOther;
      }
    }
    return kind;
  }

  // Takes the group's maps away that cannot have channels last because others have not. Whether there were any.
  bool restrict(const PlannedGroup& group) {
    const Kind kind = kind_of(group.group);
    const Node& first = graph_.node(group.group.nodes.front());
    const bool takes_any = kind == Kind::kDense || kind == Kind::kFewPixels;
    std::vector<NodeId> tied;
    for (const NodeId input : group.inputs) {
      const bool is_weight = as<Conv>(first) && input == first.inputs[1];
      if (!is_weight && !(takes_any && input == first.inputs[0])) tied.push_back(input);
    }
    tied.push_back(group.group.result());
    std::erase_if(tied, [&](NodeId id) { return has_no_order(id); });
    const bool all =
        kind != Kind::kOther && std::ranges::all_of(tied, [&](NodeId id) { return may_[index(id)]; });
    if (all) return false;
    if (kind == Kind::kOther) tied.insert(tied.end(), group.inputs.begin(), group.inputs.end());
    bool any = false;
    for (const NodeId id : tied) {
      any = any || may_[index(id)];
      may_[index(id)] = false;
    }
    return any;
  }

  const Graph& graph_;
  const std::vector<PlannedGroup>& groups_;
  const std::vector<tensor::Element>& elements_;
  const int64_t lanes_;
  std::vector<bool> may_;
};

}  // namespace

std::vector<bool> may_have_channels_last(const Graph& graph, const std::vector<PlannedGroup>& groups,
                                         const std::vector<tensor::Element>& elements, int64_t lanes) {
  return Rules(graph, groups, elements, lanes).may();
}

}  // namespace tf::graph
