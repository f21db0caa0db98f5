#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/element_values.h"
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

// Whether operands of these types broadcast to the result's extents, each of which one of them has.
bool broadcast_to(const Graph& graph, const std::vector<NodeId>& operands, const TensorType& result) {
  for (int d = 0; d < result.rank(); ++d) {
    const bool found = std::ranges::any_of(operands, [&](NodeId id) {
      const TensorType& type = graph.type(id);
      const int at = d - (result.rank() - type.rank());
      return at >= 0 && tensor::structurally_equal(type.extents[static_cast<size_t>(at)],
                                                   result.extents[static_cast<size_t>(d)]);
    });
    if (!found) return false;
  }
  return true;
}

// Element-wise operators broadcast themselves.
void read_before_expand(Graph& graph, NodeId id) {
  Node& node = graph.nodes[static_cast<size_t>(index(id))];
  if (!as<Binary>(node) && !as<Where>(node)) return;
  for (NodeId& operand : node.inputs) {
    if (!as<Expand>(graph.node(operand))) continue;
    const NodeId expanded = std::exchange(operand, graph.node(operand).inputs[0]);
    if (!broadcast_to(graph, node.inputs, node.type)) operand = expanded;
  }
}

// The transpose or slice of a transpose or slice as one.
void read_before_move(Graph& graph, NodeId id) {
  Node& node = graph.nodes[static_cast<size_t>(index(id))];
  if (node.inputs.size() != 1) return;
  const Node& before = graph.node(node.inputs[0]);
  if (as<Reshape>(node) && as<Reshape>(before)) {
    node.inputs = before.inputs;
  } else if (auto* perm = std::get_if<Transpose>(&node.op); perm && as<Transpose>(before)) {
    for (int64_t& axis : perm->perm) axis = as<Transpose>(before)->perm[static_cast<size_t>(axis)];
    node.inputs = before.inputs;
  } else if (auto* slice = std::get_if<Slice>(&node.op); slice && as<Slice>(before)) {
    const Slice& first = *as<Slice>(before);
    for (size_t k = 0; k < first.axes.size(); ++k) {
      const auto same = std::ranges::find(slice->axes, first.axes[k]);
      if (same == slice->axes.end()) {
        slice->axes.push_back(first.axes[k]), slice->starts.push_back(first.starts[k]);
        slice->sizes.push_back(first.sizes[k]), slice->steps.push_back(first.steps[k]);
      } else {
        const auto at = static_cast<size_t>(same - slice->axes.begin());
        slice->starts[at] = first.starts[k] + slice->starts[at] * first.steps[k];
        slice->steps[at] *= first.steps[k];
      }
    }
    node.inputs = before.inputs;
  }
}

bool is_one(const tensor::Expr& extent) {
  return tensor::as_int(extent) == 1;
}

// Whether the axes of more than one element stay in their order.
bool is_view_of_operand(const Graph& graph, const Node& node) {
  const auto* transpose = as<Transpose>(node);
  if (!transpose) return false;
  std::vector<int64_t> moved;
  for (int64_t axis : transpose->perm)
    if (!is_one(graph.type(node.inputs[0]).extents[static_cast<size_t>(axis)])) moved.push_back(axis);
  return std::ranges::is_sorted(moved);
}

// A reshape of x, or of what x is a reshape of.
NodeId reshaped(Rewriter& rewriter, NodeId x, std::vector<tensor::Expr> extents, const std::string& name) {
  const Node& before = rewriter.to().node(x);
  const NodeId base = as<Reshape>(before) ? before.inputs[0] : x;
  if (std::ranges::equal(rewriter.to().type(base).extents, extents, tensor::structurally_equal)) return base;
  return rewriter.add(Reshape{std::move(extents)}, {base}, name);
}

// Of a reshape that only leaves out axes of one element of a transpose: a transpose of fewer axes, of a reshape. Nothing
// if it is none.
std::optional<NodeId> transpose_of_fewer(Rewriter& rewriter, const Node& node) {
  const Graph& to = rewriter.to();
  const NodeId moved = rewriter.mapped(node.inputs[0]);
  const auto* transpose = as<Reshape>(node) ? as<Transpose>(to.node(moved)) : nullptr;
  if (!transpose) return std::nullopt;
  const NodeId x = to.node(moved).inputs[0];
  std::vector<int64_t> kept;  // axes of x, in the result's order
  for (int64_t axis : transpose->perm) {
    const tensor::Expr& extent = to.type(x).extents[static_cast<size_t>(axis)];
    if (kept.size() < node.type.extents.size() &&
        tensor::structurally_equal(extent, node.type.extents[kept.size()]))
      kept.push_back(axis);
    else if (!is_one(extent))
      return std::nullopt;
  }
  if (kept.size() != node.type.extents.size() || kept.size() == transpose->perm.size()) return std::nullopt;
  std::vector<int64_t> order = kept;
  std::ranges::sort(order);
  std::vector<tensor::Expr> extents;
  for (int64_t axis : order) extents.push_back(to.type(x).extents[static_cast<size_t>(axis)]);
  for (int64_t& axis : kept) axis = std::ranges::find(order, axis) - order.begin();
  const NodeId view = reshaped(rewriter, x, std::move(extents), node.name);
  return rewriter.add(Transpose{std::move(kept)}, {view}, node.name);
}

// A product with a transpose that is read with its last two axes the other way round: with a transpose that turned them.
std::optional<NodeId> product_with_turned(Rewriter& rewriter, const Node& node) {
  const auto* product = as<MatMul>(node);
  if (!product || !product->transpose_b) return std::nullopt;
  const NodeId b = rewriter.mapped(node.inputs[1]);
  const auto* transpose = as<Transpose>(rewriter.to().node(b));
  if (!transpose) return std::nullopt;
  std::vector<int64_t> perm = transpose->perm;
  std::swap(perm[perm.size() - 2], perm.back());
  const NodeId x = rewriter.to().node(b).inputs[0];
  const std::string name = rewriter.to().node(b).name;
  const bool turned_back = std::ranges::is_sorted(perm);
  const NodeId turned = turned_back ? x : rewriter.add(Transpose{std::move(perm)}, {x}, name);
  MatMul op = *product;
  op.transpose_b = false;
  return rewriter.add(op, {rewriter.mapped(node.inputs[0]), turned}, node.name);
}

// A gather of elements that lie evenly spaced, as the slice that it is, in the gather's extents.
std::optional<Slice> slice_of(const Graph& graph, const Node& node) {
  const auto* gather = as<Gather>(node);
  const auto* known = gather ? as<Constant>(graph.node(node.inputs[1])) : nullptr;
  if (!known || graph.type(node.inputs[1]).rank() > 1) return std::nullopt;
  const auto extent = tensor::as_int(graph.type(node.inputs[0]).extents[static_cast<size_t>(gather->axis)]);
  std::vector<int64_t> places = read_integers(graph.type(node.inputs[1]).element, known->data->bytes());
  if (!extent || places.empty()) return std::nullopt;
  for (int64_t& place : places) {
    if (place < -*extent || place >= *extent) return std::nullopt;
    if (place < 0) place += *extent;
  }
  const int64_t step = places.size() > 1 ? places[1] - places[0] : 1;
  for (size_t i = 1; i < places.size(); ++i)
    if (step == 0 || places[i] - places[i - 1] != step) return std::nullopt;
  return Slice{{gather->axis}, {places[0]}, {std::ssize(places)}, {step}};
}

// The same with operators that cost less, or that others can meet; nothing if there are none.
std::optional<NodeId> in_other_words(Rewriter& rewriter, const std::vector<std::vector<NodeId>>& readers,
                                     const Node& node) {
  const Graph& graph = rewriter.from();
  if (const std::optional<Slice> slice = slice_of(graph, node)) {
    const NodeId part = rewriter.add(*slice, {rewriter.mapped(node.inputs[0])}, node.name);
    const bool same_rank = node.type.rank() == graph.type(node.inputs[0]).rank();
    return same_rank ? part : rewriter.add(Reshape{node.type.extents}, {part}, node.name);
  }
  if (is_view_of_operand(graph, node))
    return reshaped(rewriter, rewriter.mapped(node.inputs[0]), node.type.extents, node.name);
  if (node.inputs.empty() || readers[static_cast<size_t>(index(node.inputs.back()))].size() != 1)
    return std::nullopt;
  if (const auto product = product_with_turned(rewriter, node)) return product;
  return transpose_of_fewer(rewriter, node);
}

}  // namespace

Graph remove_identities(const Graph& graph) {
  Rewriter rewriter(graph);
  const std::vector<std::vector<NodeId>> readers = users(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (changes_nothing(graph, node)) {
      rewriter.map(NodeId(i), rewriter.mapped(node.inputs[0]));
      continue;
    }
    if (const std::optional<NodeId> other = in_other_words(rewriter, readers, node)) {
      rewriter.map(NodeId(i), *other);
      continue;
    }
    const NodeId copy = rewriter.copy(NodeId(i));
    read_before_move(rewriter.to(), copy);
    read_before_expand(rewriter.to(), copy);
    const Node& now = rewriter.to().node(copy);
    // Two transposes may have cancelled each other.
    const bool nothing_left = !node.inputs.empty() && changes_nothing(rewriter.to(), now);
    rewriter.map(NodeId(i), nothing_left ? now.inputs[0] : copy);
  }
  return std::move(rewriter).finish();
}

}  // namespace tf::graph
