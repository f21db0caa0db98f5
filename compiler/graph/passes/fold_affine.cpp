#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "compiler/graph/element_values.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::graph {
namespace {

using Floats = std::vector<double>;

const Constant* constant(const Graph& graph, NodeId id) {
  return as<Constant>(graph.node(id));
}

NodeId add_floats(Rewriter& rewriter, const TensorType& type, const Floats& values, const std::string& name) {
  auto data = std::make_shared<const Blob>(write_floats(type.element, values));
  return rewriter.to().add_constant(type, std::move(data), name);
}

// One value for each of `channels`, if the constant is that under broadcasting along `axis` of a tensor of
// `rank`.
std::optional<Floats> per_channel(const Graph& graph, NodeId id, int rank, int axis, int64_t channels) {
  const Constant* known = constant(graph, id);
  const TensorType& type = graph.type(id);
  if (!known || !tensor::is_float(type.element) || type.rank() > rank) return std::nullopt;
  const std::vector<int64_t> shape = graph.shape(type);
  int64_t count = 1;
  for (int i = 0; i < type.rank(); ++i) {
    if (shape[i] != 1 && (i + rank - type.rank() != axis || shape[i] != channels)) return std::nullopt;
    count *= shape[i];
  }
  Floats values = read_floats(type.element, known->data->bytes());
  if (count == 1) values.assign(channels, values[0]);
  return values;
}

// 1 / c for each element of a constant of floats, if all are powers of two whose reciprocals are normal
// numbers of the same type: the quotient and the product then are the same float.
std::optional<Floats> exact_reciprocals(const Graph& graph, NodeId id) {
  const Constant* known = constant(graph, id);
  const tensor::Element element = graph.type(id).element;
  if (!known || !tensor::is_float(element)) return std::nullopt;
  Floats values = read_floats(element, known->data->bytes());
  const double least_normal = element == tensor::Element::kFloat16 ? 0x1p-14 : 0x1p-126;
  for (double& value : values) {
    int exponent = 0;
    if (std::abs(std::frexp(value, &exponent)) != 0.5) return std::nullopt;
    value = 1 / value;
    if (std::abs(value) < least_normal || std::abs(value) > 1 / least_normal) return std::nullopt;
  }
  return values;
}

class AffineFolder {
 public:
  explicit AffineFolder(Graph graph)
      : graph_(std::move(graph)), rewriter_(graph_), users_(users(graph_)), outputs_(is_output(graph_)) {}

  Graph run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id = NodeId(i);
      if (fold(id)) continue;
      const NodeId copied = rewriter_.copy(id);
      origins_[copied] = id;
      rewriter_.map(id, copied);
    }
    return std::move(rewriter_).finish();
  }

 private:
  // Works on the new graph, so that a chain of scales and shifts folds link by link.
  bool fold(NodeId id) {
    const Node& node = graph_.node(id);
    auto* binary = as<Binary>(node);
    if (!binary || (binary->kind != BinaryKind::kMul && binary->kind != BinaryKind::kAdd)) return false;
    for (int side = 0; side < 2; ++side) {
      const NodeId product = node.inputs[side], factor = node.inputs[1 - side];
      // The node before may have been folded already; only this one may read it.
      if (users_[index(product)].size() != 1 || outputs_[index(product)]) continue;
      if (graph_.shape(product) != graph_.shape(node.type)) continue;
      const NodeId now = rewriter_.mapped(product);
      if (as<Conv>(rewriter_.to().node(now)) && fold_conv(id, binary->kind, now, rewriter_.mapped(factor)))
        return true;
      const bool scale = binary->kind == BinaryKind::kMul;
      if (scale && as<MatMul>(rewriter_.to().node(now)) && fold_matmul(id, now, rewriter_.mapped(factor)))
        return true;
    }
    return false;
  }

  bool fold_conv(NodeId id, BinaryKind kind, NodeId conv_id, NodeId factor_id) {
    Graph& to = rewriter_.to();
    const Node conv = to.node(conv_id);
    const std::vector<int64_t> shape = to.shape(conv.inputs[1]);
    const Constant* weights = constant(to, conv.inputs[1]);
    const Constant* bias = conv.inputs.size() > 2 ? constant(to, conv.inputs[2]) : nullptr;
    const auto factor = per_channel(to, factor_id, conv.type.rank(), 1, shape[0]);
    if (!weights || (conv.inputs.size() > 2 && !bias) || !factor) return false;
    const tensor::Element element = conv.type.element;
    Floats shift = bias ? read_floats(element, bias->data->bytes()) : Floats(shape[0], 0.0);
    std::vector<NodeId> inputs = {conv.inputs[0], conv.inputs[1]};
    if (kind == BinaryKind::kMul) {
      Floats w = read_floats(element, weights->data->bytes());
      const size_t each = w.size() / shape[0];
      for (size_t i = 0; i < w.size(); ++i) w[i] *= (*factor)[i / each];
      for (size_t c = 0; c < shift.size(); ++c) shift[c] *= (*factor)[c];
      const TensorType type = to.type(conv.inputs[1]);
      const std::string name = to.node(conv.inputs[1]).name;
      inputs[1] = add_floats(rewriter_, type, w, name);
      drop(conv.inputs[1]);
    } else {
      for (size_t c = 0; c < shift.size(); ++c) shift[c] += (*factor)[c];
    }
    if (bias || kind == BinaryKind::kAdd) {
      const std::vector<int64_t> channels = {shape[0]};
      inputs.push_back(add_floats(rewriter_, tensor_type(element, channels), shift, conv.name + ".bias"));
    }
    rewriter_.map(id, rewriter_.add(conv.op, std::move(inputs), conv.name));
    return true;
  }

  bool fold_matmul(NodeId id, NodeId product_id, NodeId factor_id) {
    Graph& to = rewriter_.to();
    const Node product = to.node(product_id);
    const std::vector<int64_t> shape = to.shape(product.inputs[1]);
    const Constant* weights = constant(to, product.inputs[1]);
    if (!weights || shape.size() != 2) return false;
    const bool transposed = as<MatMul>(product)->transpose_b;
    const int64_t columns = shape[transposed ? 0 : 1];
    const auto factor = per_channel(to, factor_id, product.type.rank(), product.type.rank() - 1, columns);
    if (!factor) return false;
    Floats w = read_floats(product.type.element, weights->data->bytes());
    for (size_t i = 0; i < w.size(); ++i) w[i] *= (*factor)[transposed ? i / shape[1] : i % columns];
    const TensorType type = to.type(product.inputs[1]);
    const std::string name = to.node(product.inputs[1]).name;
    const NodeId scaled = add_floats(rewriter_, type, w, name);
    drop(product.inputs[1]);
    rewriter_.map(id, rewriter_.add(product.op, {product.inputs[0], scaled}, product.name));
    return true;
  }

  // Gives up the data of weights, which scaled ones replace, if nothing else reads them: so that a network
  // has its weights in memory once.
  void drop(NodeId weights) {
    if (const auto origin = origins_.find(weights); origin != origins_.end()) {
      const int old = index(origin->second);
      if (users_[old].size() != 1 || outputs_[old]) return;
      graph_.nodes[old].op = Constant{};
    }
    rewriter_.to().nodes[index(weights)].op = Constant{};
  }

  Graph graph_;
  Rewriter rewriter_;
  std::map<NodeId, NodeId> origins_;  // of the new graph's copies
  const std::vector<std::vector<NodeId>> users_;
  const std::vector<bool> outputs_;
};

}  // namespace

Graph expand_batch_norms(const Graph& graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id = NodeId(i);
    const Node& node = graph.nodes[i];
    auto* norm = as<BatchNorm>(node);
    if (!norm) {
      rewriter.map(id, rewriter.copy(id));
      continue;
    }
    const std::vector<NodeId> inputs = rewriter.mapped(node.inputs);
    auto add = [&](Op op, std::vector<NodeId> operands) {
      return rewriter.add(std::move(op), std::move(operands), node.name);
    };
    auto binary = [&](BinaryKind kind, NodeId a, NodeId b) { return add(Binary{kind}, {a, b}); };
    const NodeId epsilon = add_floats(rewriter, {node.type.element, {}}, {norm->epsilon}, node.name);
    const NodeId deviation = add(Unary{UnaryKind::kSqrt}, {binary(BinaryKind::kAdd, inputs[4], epsilon)});
    const NodeId scale = binary(BinaryKind::kDiv, inputs[1], deviation);
    const NodeId shift = binary(BinaryKind::kSub, inputs[2], binary(BinaryKind::kMul, inputs[3], scale));
    // [C] → [C, 1, …], which broadcasts along axis 1.
    std::vector<tensor::Expr> extents(node.type.rank() - 1, tensor::imm(1));
    extents[0] = graph.type(node.inputs[1]).extents[0];
    const NodeId scaled = binary(BinaryKind::kMul, inputs[0], add(Reshape{extents}, {scale}));
    rewriter.map(id, binary(BinaryKind::kAdd, scaled, add(Reshape{extents}, {shift})));
  }
  return std::move(rewriter).finish();
}

Graph multiply_by_reciprocals(const Graph& graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id = NodeId(i);
    const Node& node = graph.nodes[i];
    auto* binary = as<Binary>(node);
    const std::optional<Floats> inverses =
        binary && binary->kind == BinaryKind::kDiv ? exact_reciprocals(graph, node.inputs[1]) : std::nullopt;
    if (!inverses) {
      rewriter.map(id, rewriter.copy(id));
      continue;
    }
    const NodeId factor = add_floats(rewriter, graph.type(node.inputs[1]), *inverses, node.name);
    rewriter.map(
        id, rewriter.add(Binary{BinaryKind::kMul}, {rewriter.mapped(node.inputs[0]), factor}, node.name));
  }
  return std::move(rewriter).finish();
}

Graph fold_affine(Graph graph) {
  return AffineFolder(std::move(graph)).run();
}

}  // namespace tf::graph
