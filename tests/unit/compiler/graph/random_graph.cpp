#include "random_graph.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/graph/element_values.h"

namespace tf::graph {

using tensor::Element;

NodeId RandomGraph::constant(std::vector<int64_t> shape, double low, double high) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<double> values(count);
  for (double& v : values) v = low + (high - low) * static_cast<double>(random_()) * 0x1p-32;
  return graph_.add_constant(tensor_type(Element::kFloat32, shape),
                             std::make_shared<const Blob>(write_floats(Element::kFloat32, values)), "c");
}

NodeId RandomGraph::add(Op op, std::vector<NodeId> inputs) {
  absl::StatusOr<NodeId> id =
      graph_.add(std::move(op), std::move(inputs), "n" + std::to_string(graph_.nodes.size()));
  TF_CHECK(id.ok()) << id.status().message();
  return *id;
}

NodeId RandomGraph::any_map() {
  return maps_[below(static_cast<int>(maps_.size()))];
}

NodeId RandomGraph::convolved(NodeId x) {
  const int64_t channels = graph_.shape(x)[1];
  if (below(3) == 0)
    return add(Conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, channels}, {x, constant({channels, 1, 3, 3})});
  const int64_t kernel = below(2) ? 3 : 1, made = 2 + below(11), pad = kernel / 2;
  std::vector<NodeId> operands = {x, constant({made, channels, kernel, kernel}, -0.5, 0.5)};
  if (below(2)) operands.push_back(constant({made}));
  return add(Conv{{1, 1}, {1, 1}, {pad, pad}, {pad, pad}, 1}, operands);
}

NodeId RandomGraph::joined(NodeId x) {
  const std::vector<int64_t> shape = graph_.shape(x);
  std::vector<NodeId> parts = {x};
  for (int i = below(3); i >= 0; --i) {
    const NodeId other = any_map();
    const std::vector<int64_t> s = graph_.shape(other);
    if (s[0] == shape[0] && s[2] == shape[2] && s[3] == shape[3] && shape[1] + s[1] <= 12)
      parts.push_back(other);
  }
  return add(Concat{1}, parts);
}

// There and back: views in the middle of the network.
NodeId RandomGraph::through_rows(NodeId x) {
  const std::vector<int64_t> shape = graph_.shape(x);
  NodeId y = add(Reshape{{graph_.type(x).extents[0], tensor::imm(shape[1] * shape[2] * shape[3])}}, {x});
  y = add(Unary{UnaryKind::kTanh}, {y});
  return add(Reshape{graph_.type(x).extents}, {y});
}

NodeId RandomGraph::grown_from(NodeId x) {
  const std::vector<int64_t> shape = graph_.shape(x);
  const int64_t channels = shape[1];
  switch (below(13)) {
    case 0:
    case 1:
    case 2:
      return convolved(x);
    case 3:
      return add(
          Pool{below(2) ? PoolKind::kMax : PoolKind::kAverage, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
          {x});
    case 4:
      return add(BatchNorm{}, {x, constant({channels}), constant({channels}), constant({channels}),
                               constant({channels}, 0.5, 2)});
    case 5:
      return add(Unary{below(2) ? UnaryKind::kRelu : UnaryKind::kIdentity}, {x});
    case 6:  // a gate: two readers of one value meet again
      return add(Binary{BinaryKind::kMul}, {x, add(Unary{UnaryKind::kSigmoid}, {x})});
    case 7: {
      const NodeId other = any_map();
      if (graph_.shape(other) != shape) return x;
      return add(Binary{below(2) ? BinaryKind::kAdd : BinaryKind::kMax}, {x, other});
    }
    case 8:
      return joined(x);
    case 9:
      return add(Binary{below(2) ? BinaryKind::kMul : BinaryKind::kAdd}, {x, constant({channels, 1, 1})});
    case 10:
      return through_rows(x);
    case 11:  // every extent a number, which agrees with a name, or is broadcast to, only by value
      return add(Binary{BinaryKind::kMax}, {x, constant({shape[0] == 1 ? 2 : shape[0], channels, 1, 1})});
    default:
      return add(Clip{-0.5, 2}, {x});
  }
}

void RandomGraph::grow() {
  const NodeId y = grown_from(any_map());
  if (graph_.shape(y)[1] <= 12) maps_.push_back(y);
}

Graph RandomGraph::make() {
  graph_ = {};
  graph_.name = "random";
  maps_.clear();
  const std::vector<int64_t> shape = {1 + below(2), 4 * (1 + below(3)), 3 + below(4), 3 + below(4)};
  TensorType type = tensor_type(Element::kFloat32, shape);
  if (below(2)) {
    graph_.dims = {{tensor::var("batch")}};
    graph_.binding = {{"batch", shape[0]}};
    type.extents[0] = graph_.dims[0].var;
  }
  for (int i = below(2); i >= 0; --i) maps_.push_back(graph_.add_input(type, "x"));
  for (int i = 4 + below(10); i > 0; --i) grow();
  for (int i = 0, count = 1 + below(3); i < count; ++i)
    graph_.outputs.push_back({"y" + std::to_string(i), i == 0 ? maps_.back() : any_map()});
  return graph_;
}

std::vector<HostTensor> RandomGraph::inputs(const Graph& graph) {
  std::vector<HostTensor> values;
  for (NodeId id : graph.inputs()) {
    const std::vector<int64_t> shape = graph.shape(id);
    std::vector<double> elements(*element_count(shape));
    for (double& e : elements) e = static_cast<double>(random_()) * 0x1p-31 - 1;
    values.push_back({"x", Element::kFloat32, shape,
                      std::make_shared<const Blob>(write_floats(Element::kFloat32, elements))});
  }
  return values;
}

double largest_difference(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = read_floats(a[i].element, a[i].data->bytes()),
               y = read_floats(b[i].element, b[i].data->bytes());
    if (x.size() != y.size()) return INFINITY;
    for (size_t k = 0; k < x.size(); ++k)
      worst = std::max(worst, std::isnan(x[k]) ? INFINITY : std::fabs(x[k] - y[k]));
  }
  return worst;
}

}  // namespace tf::graph
