#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/fold.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::graph {
namespace {

// A part of one axis.
struct Part {
  int64_t axis = 0, start = 0, size = 0;
};

bool is_last(const Part& part, const Node& node) {
  return part.axis + 1 == node.type.rank();
}

class Splitter {
 public:
  explicit Splitter(Graph graph)
      : graph_(std::move(graph)), rewriter_(graph_), users_(users(graph_)), outputs_(is_output(graph_)) {}

  Graph run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id = NodeId(i);
      const auto* slice = as<Slice>(graph_.node(id));
      if (slice && is_split(graph_.node(id).inputs[0]))
        rewriter_.map(id,
                      made(graph_.node(id).inputs[0], {slice->axes[0], slice->starts[0], slice->sizes[0]}));
      else
        rewriter_.map(id, rewriter_.copy(id));
    }
    return std::move(rewriter_).finish();
  }

 private:
  bool is_read_once(NodeId id) const { return users_[index(id)].size() == 1 && !outputs_[index(id)]; }
  bool is_constant(NodeId id) const { return as<Constant>(graph_.node(id)) != nullptr; }

  // Whether a node reads parts only to move them or multiply matrices: what computes element by element reads parts of
  // a product in its own kernel.
  bool only_moves(NodeId id) const {
    if (outputs_[index(id)]) return false;
    return std::ranges::all_of(users_[index(id)], [&](NodeId reader) {
      const Node& node = graph_.node(reader);
      if (as<Reshape>(node)) return only_moves(reader);
      if (as<Transpose>(node) || as<MatMul>(node)) return true;
      const auto* binary = as<Binary>(node);
      return binary && (is_constant(node.inputs[0]) || is_constant(node.inputs[1])) && only_moves(reader);
    });
  }

  // Whether nothing but parts of it are read, none of which overlap, and each can be made by itself.
  bool is_split(NodeId id) const {
    if (outputs_[index(id)] || is_constant(id)) return false;
    int64_t axis = -1;
    std::vector<Part> parts;
    for (NodeId reader : users_[index(id)]) {
      const auto* slice = as<Slice>(graph_.node(reader));
      if (!slice || slice->axes.size() != 1 || slice->steps[0] != 1 || !only_moves(reader)) return false;
      if (axis >= 0 && slice->axes[0] != axis) return false;
      axis = slice->axes[0];
      parts.push_back({axis, slice->starts[0], slice->sizes[0]});
    }
    if (parts.size() < 2) return false;
    std::ranges::sort(parts, {}, &Part::start);
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i].start < parts[i - 1].start + parts[i - 1].size) return false;
    return std::ranges::all_of(parts, [&](const Part& part) { return can_make(id, part, true); });
  }

  // The part of a reshape's operand that becomes this one of its result: the axis is the first of those that an axis of
  // the operand is split into, and the axes before stay.
  std::optional<Part> before_reshape(const Node& node, const Part& part) const {
    const std::vector<tensor::Expr>& to = node.type.extents;
    const std::vector<tensor::Expr>& from = graph_.type(node.inputs[0]).extents;
    const auto axis = static_cast<size_t>(part.axis);
    if (from.size() <= axis) return std::nullopt;
    for (size_t d = 0; d < axis; ++d)
      if (!tensor::structurally_equal(from[d], to[d])) return std::nullopt;
    const auto whole = tensor::as_int(from[axis]), extent = tensor::as_int(to[axis]);
    if (!whole || !extent || *extent < 1 || *whole % *extent != 0) return std::nullopt;
    // What is behind must be all of the inner axes and the same axes as before.
    int64_t inner = 1;
    size_t d = axis + 1;
    for (; d < to.size() && inner < *whole / *extent; ++d) inner *= tensor::as_int(to[d]).value_or(INT32_MAX);
    if (inner != *whole / *extent || to.size() - d != from.size() - axis - 1) return std::nullopt;
    for (size_t k = axis + 1; k < from.size(); ++k, ++d)
      if (!tensor::structurally_equal(from[k], to[d])) return std::nullopt;
    return Part{part.axis, part.start * inner, part.size * inner};
  }

  // The operand of an element-wise node beside which a constant stands that has one element or one for each column.
  std::optional<size_t> beside_constant(const Node& node) const {
    const auto* binary = as<Binary>(node);
    if (!binary || binary->kind >= BinaryKind::kEqual) return std::nullopt;
    for (size_t side : {0, 1}) {
      const TensorType& x = graph_.type(node.inputs[side]);
      const NodeId beside = node.inputs[1 - side];
      if (!is_constant(beside) ||
          !std::ranges::equal(x.extents, node.type.extents, tensor::structurally_equal))
        continue;
      const std::vector<int64_t> shape = graph_.shape(beside);
      const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      if (count == 1 || count == shape.back()) return side;
    }
    return std::nullopt;
  }

  bool can_make(NodeId id, const Part& part, bool first) const {
    constexpr int64_t kLeastColumns = 16, kMostWeights = int64_t{1} << 24;  // both are in memory for a while
    if (!first && !is_read_once(id)) return false;
    const Node& node = graph_.node(id);
    if (const auto* transpose = as<Transpose>(node))
      return can_make(node.inputs[0],
                      {transpose->perm[static_cast<size_t>(part.axis)], part.start, part.size}, false);
    if (as<Reshape>(node)) {
      const std::optional<Part> before = before_reshape(node, part);
      return before && can_make(node.inputs[0], *before, false);
    }
    if (const std::optional<size_t> side = beside_constant(node))
      return is_last(part, node) && can_make(node.inputs[*side], part, false);
    return as<MatMul>(node) && is_last(part, node) && is_constant(node.inputs[1]) &&
           graph_.type(node.inputs[1]).rank() == 2 && tensor::is_float(node.type.element) &&
           part.size >= kLeastColumns &&
           element_count(graph_.shape(node.inputs[1])).value_or(kMostWeights) < kMostWeights;
  }

  NodeId part_of_constant(NodeId id, const Part& part) {
    const NodeId now = rewriter_.mapped(id);
    const Slice slice{{part.axis}, {part.start}, {part.size}, {1}};
    const NodeId cut = rewriter_.add(slice, {now}, graph_.node(id).name);
    const std::vector<NodeId> inputs = {now};
    const TensorType type = rewriter_.to().type(cut);
    return rewriter_.to().add_constant(type, fold(rewriter_.to(), slice, inputs, type), graph_.node(id).name);
  }

  NodeId made(NodeId id, const Part& part) {
    const Node& node = graph_.node(id);
    if (const auto* transpose = as<Transpose>(node)) {
      const int64_t axis = transpose->perm[static_cast<size_t>(part.axis)];
      return rewriter_.add(*transpose, {made(node.inputs[0], {axis, part.start, part.size})}, node.name);
    }
    if (as<Reshape>(node)) {
      std::vector<tensor::Expr> extents = node.type.extents;
      extents[static_cast<size_t>(part.axis)] = tensor::imm(part.size);
      const NodeId x = made(node.inputs[0], *before_reshape(node, part));
      return rewriter_.add(Reshape{std::move(extents)}, {x}, node.name);
    }
    if (const std::optional<size_t> side = beside_constant(node)) {
      const NodeId beside = node.inputs[1 - *side];
      const TensorType& type = graph_.type(beside);
      const bool is_row = type.rank() > 0 && *tensor::as_int(type.extents.back()) != 1;
      std::vector<NodeId> inputs(2, made(node.inputs[*side], part));
      inputs[1 - *side] = is_row ? part_of_constant(beside, {type.rank() - 1, part.start, part.size})
                                 : rewriter_.mapped(beside);
      return rewriter_.add(node.op, std::move(inputs), node.name);
    }
    const bool transposed = as<MatMul>(node)->transpose_b;
    const NodeId weights = part_of_constant(node.inputs[1], {transposed ? 0 : 1, part.start, part.size});
    return rewriter_.add(node.op, {rewriter_.mapped(node.inputs[0]), weights}, node.name);
  }

  const Graph graph_;
  Rewriter rewriter_;
  const std::vector<std::vector<NodeId>> users_;
  const std::vector<bool> outputs_;
};

}  // namespace

Graph split_products(const Graph& graph) {
  return Splitter(graph).run();
}

Graph gather_parts(const Graph& graph) {
  constexpr int64_t kLeastInner = 16;
  Rewriter rewriter(graph);
  const std::vector<std::vector<NodeId>> readers = users(graph);
  const std::vector<bool> outputs = is_output(graph);
  // The places along the axis that a concatenation of slices of one tensor reads; nothing if it is none.
  const auto places_of = [&](const Node& node) -> std::vector<int64_t> {
    const auto* concat = as<Concat>(node);
    if (!concat || node.inputs.size() < 2) return {};
    int64_t inner = 1;
    for (int d = static_cast<int>(concat->axis) + 1; d < node.type.rank(); ++d)
      inner *= tensor::as_int(node.type.extents[static_cast<size_t>(d)]).value_or(kLeastInner);
    if (inner < kLeastInner) return {};
    std::vector<int64_t> places;
    for (NodeId operand : node.inputs) {
      const Node& part = graph.node(operand);
      const auto* slice = as<Slice>(part);
      if (!slice || slice->axes != std::vector<int64_t>{concat->axis} || outputs[index(operand)] ||
          readers[index(operand)].size() != 1 || part.inputs != graph.node(node.inputs[0]).inputs)
        return {};
      for (int64_t i = 0; i < slice->sizes[0]; ++i) places.push_back(slice->starts[0] + i * slice->steps[0]);
    }
    return places;
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::vector<int64_t> places = places_of(node);
    if (places.empty()) {
      rewriter.map(NodeId(i), rewriter.copy(NodeId(i)));
      continue;
    }
    const std::vector<int64_t> shape = {std::ssize(places)};
    const NodeId indices = rewriter.to().add_constant(
        tensor_type(tensor::Element::kInt64, shape),
        std::make_shared<const Blob>(write_integers(tensor::Element::kInt64, places)), node.name + ".places");
    const NodeId x = rewriter.mapped(graph.node(node.inputs[0]).inputs[0]);
    rewriter.map(NodeId(i), rewriter.add(Gather{as<Concat>(node)->axis}, {x, indices}, node.name));
  }
  return std::move(rewriter).finish();
}

}  // namespace tf::graph
