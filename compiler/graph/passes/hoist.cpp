#include <algorithm>
#include <map>
#include <optional>

#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::graph {
namespace {

bool is_move(const Node& node) {
  return as<Reshape>(node) || as<Transpose>(node);
}

bool is_one_number(const Graph& graph, NodeId id) {
  return as<Constant>(graph.node(id)) && element_count(graph.shape(id)).value_or(0) == 1;
}

// Of an element-wise node whose other operand, if there is one, is one known number: the operand whose elements it
// computes, one by one and of the same type.
std::optional<size_t> computed_operand(const Graph& graph, const Node& node) {
  size_t operand = 0;
  if (as<Binary>(node)) {
    if (is_one_number(graph, node.inputs[0])) operand = 1;
    if (!is_one_number(graph, node.inputs[1 - operand])) return std::nullopt;
  } else if (!as<Unary>(node) && !as<LeakyRelu>(node) && !as<Clip>(node)) {
    return std::nullopt;
  }
  const TensorType& type = graph.type(node.inputs[operand]);
  if (type.element != node.type.element ||
      !std::ranges::equal(type.extents, node.type.extents, tensor::structurally_equal))
    return std::nullopt;
  return operand;
}

class Hoister {
 public:
  explicit Hoister(const Graph& graph)
      : graph_(graph), rewriter_(graph), users_(users(graph)), outputs_(is_output(graph)) {}

  Graph run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id = NodeId(i);
      const std::optional<size_t> operand = computed_operand(graph_, graph_.node(id));
      rewriter_.map(id, operand && may_move(graph_.node(id).inputs[*operand]) ? hoisted(id, *operand)
                                                                              : rewriter_.copy(id));
    }
    return std::move(rewriter_).finish();
  }

 private:
  bool is_read_once(NodeId id) const { return users_[index(id)].size() == 1 && !outputs_[index(id)]; }

  // Whether what is moved to this operand was computed by a kernel that can compute more.
  bool may_move(NodeId id) const {
    bool moved = false;
    for (; is_read_once(id); id = graph_.node(id).inputs[data_.contains(id) ? data_.at(id) : 0]) {
      const Node& node = graph_.node(id);
      if (data_.contains(id)) continue;
      if (!is_move(node)) {
        const auto* product = as<MatMul>(node);
        return moved && (is_elementwise(node.op) || as<Conv>(node) ||
                         (product && as<Constant>(graph_.node(node.inputs[1]))));
      }
      moved = true;
    }
    return false;
  }

  NodeId hoisted(NodeId id, size_t operand) {
    Graph& to = rewriter_.to();
    const Node& node = graph_.node(id);
    std::vector<Node> moves;
    NodeId at = rewriter_.mapped(node.inputs[operand]);
    for (; is_move(to.node(at)); at = to.node(at).inputs[0]) moves.push_back(to.node(at));
    std::vector<NodeId> inputs(node.inputs.size(), at);
    if (inputs.size() == 2) {
      const NodeId number = node.inputs[1 - operand];
      inputs[1 - operand] =
          to.add_constant({graph_.type(number).element, {}}, as<Constant>(graph_.node(number))->data,
                          graph_.node(number).name);
    }
    at = rewriter_.add(node.op, std::move(inputs), node.name);
    for (auto move = moves.rbegin(); move != moves.rend(); ++move)
      at = rewriter_.add(move->op, {at}, move->name);
    data_[id] = operand;
    return at;
  }

  const Graph& graph_;
  Rewriter rewriter_;
  const std::vector<std::vector<NodeId>> users_;
  const std::vector<bool> outputs_;
  std::map<NodeId, size_t> data_;  // of nodes that were moved: the operand that they compute
};

}  // namespace

Graph hoist_numbers(const Graph& graph) {
  return Hoister(graph).run();
}

namespace {

using Shape = std::vector<int64_t>;

std::optional<Shape> known_shape(const TensorType& type) {
  Shape shape;
  for (const tensor::Expr& extent : type.extents) {
    const auto known = tensor::as_int(extent);
    if (!known || *known < 1) return std::nullopt;
    shape.push_back(*known);
  }
  return shape;
}

// A constant beside a tensor of shape `from`: what it is expanded to, and then reshaped to, beside the same tensor in
// shape `to`. Both have the same number of elements.
struct Refit {
  Shape expanded, reshaped;
};
Refit refit(const Shape& constant, const Shape& from, const Shape& to) {
  Refit refit;
  const size_t lead = from.size() - constant.size();
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The fewest axes of both that have as many elements.
    const size_t first = i, begin = j;
    int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
    }
    bool varies = false;
    for (size_t d = first; d < i; ++d) varies = varies || (d >= lead && constant[d - lead] != 1);
    for (size_t d = first; d < i; ++d) refit.expanded.push_back(varies ? from[d] : 1);
    for (size_t d = begin; d < j; ++d) refit.reshaped.push_back(varies ? to[d] : 1);
  }
  return refit;
}

}  // namespace

Graph sink_reshapes(const Graph& graph) {
  constexpr int64_t kMostElements = 1 << 22;
  // A constant in another shape is another constant at each size of a named dimension.
  if (!graph.dims.empty()) return graph;
  Rewriter rewriter(graph);
  const std::vector<std::vector<NodeId>> readers = users(graph);
  const std::vector<bool> outputs = is_output(graph);
  const auto is_read_once = [&](NodeId id) { return readers[index(id)].size() == 1 && !outputs[index(id)]; };
  // The new reshape of what the node computes; nothing where the node stays.
  const auto sunk = [&](NodeId id) -> std::optional<NodeId> {
    const Node& node = graph.node(id);
    const auto* binary = as<Binary>(node);
    if (!binary || !is_read_once(id) || !as<Reshape>(graph.node(readers[index(id)][0]))) return std::nullopt;
    for (size_t side : {0, 1}) {
      const NodeId view = node.inputs[side], beside = node.inputs[1 - side];
      if (!as<Reshape>(graph.node(view)) || !as<Constant>(graph.node(beside)) || !is_read_once(view))
        continue;
      const NodeId x = graph.node(view).inputs[0];
      const auto from = known_shape(graph.type(view)), to = known_shape(graph.type(x)),
                 constant = known_shape(graph.type(beside));
      if (!from || !to || !constant || graph.shape(node.type) != *from) continue;
      const Refit refitted = refit(*constant, *from, *to);
      if (element_count(refitted.expanded).value_or(kMostElements + 1) > kMostElements) continue;
      const auto extents = [](const Shape& shape) { return tensor_type({}, shape).extents; };
      NodeId known = rewriter.add(Expand{extents(refitted.expanded)}, {rewriter.mapped(beside)}, node.name);
      known = rewriter.add(Reshape{extents(refitted.reshaped)}, {known}, node.name);
      std::vector<NodeId> inputs = {rewriter.mapped(x), rewriter.mapped(x)};
      inputs[1 - side] = known;
      const NodeId computed = rewriter.add(*binary, std::move(inputs), node.name);
      return rewriter.add(Reshape{node.type.extents}, {computed}, node.name);
    }
    return std::nullopt;
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::optional<NodeId> now = sunk(NodeId(i));
    rewriter.map(NodeId(i), now ? *now : rewriter.copy(NodeId(i)));
  }
  return std::move(rewriter).finish();
}

}  // namespace tf::graph
