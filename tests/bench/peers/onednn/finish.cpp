#include "tests/bench/peers/onednn/finish.h"

#include <algorithm>

#include "compiler/graph/element_values.h"

namespace tf::peers::onednn {
namespace {

using graph::as;
using graph::Node;
using graph::NodeId;

std::optional<algorithm> algorithm_of(graph::UnaryKind kind) {
  switch (kind) {
    case graph::UnaryKind::kRelu:
      return algorithm::eltwise_relu;
    case graph::UnaryKind::kTanh:
      return algorithm::eltwise_tanh;
    case graph::UnaryKind::kSigmoid:
      return algorithm::eltwise_logistic;
    case graph::UnaryKind::kExp:
      return algorithm::eltwise_exp;
    case graph::UnaryKind::kAbs:
      return algorithm::eltwise_abs;
    case graph::UnaryKind::kSqrt:
      return algorithm::eltwise_sqrt;
    default:
      return std::nullopt;
  }
}

class Steps {
 public:
  Steps(const Part& part, NodeId main, const FinishOptions& options)
      : part_(part), options_(options), so_far_(main) {}

  std::optional<Finish> run() {
    const std::vector<NodeId>& nodes = part_.kernel.group.nodes;
    auto at = std::find(nodes.begin(), nodes.end(), so_far_) + 1;
    while (at != nodes.end()) {
      const bool is_gelu = std::distance(at, nodes.end()) >= 5 && starts_gelu(*at, *(at + 1));
      if (is_gelu) {
        // x · (1 + erf(x / √2)) / 2 as five nodes; the answer shows whether it was.
        finish_.steps.append_eltwise(1, algorithm::eltwise_gelu_erf, 0, 0);
        at += 5;
      } else if (!take(part_.node(*at))) {
        return std::nullopt;
      } else {
        ++at;
      }
      so_far_ = *(at - 1);
    }
    return std::move(finish_);
  }

 private:
  bool starts_gelu(NodeId first, NodeId second) const {
    const auto* unary = as<graph::Unary>(part_.node(second));
    const auto* binary = as<graph::Binary>(part_.node(first));
    return unary != nullptr && binary != nullptr && unary->kind == graph::UnaryKind::kErf &&
           part_.node(first).inputs[0] == so_far_;
  }

  bool take(const Node& node) {
    if (std::find(node.inputs.begin(), node.inputs.end(), so_far_) == node.inputs.end()) return false;
    if (const auto* clip = as<graph::Clip>(node)) {
      finish_.steps.append_eltwise(1, algorithm::eltwise_clip, static_cast<float>(clip->low),
                                   static_cast<float>(clip->high));
      return true;
    }
    if (const auto* unary = as<graph::Unary>(node)) {
      const std::optional<algorithm> how = algorithm_of(unary->kind);
      if (how) finish_.steps.append_eltwise(1, *how, 0, 0);
      return how.has_value();
    }
    const auto* binary = as<graph::Binary>(node);
    return binary != nullptr && take(node, binary->kind);
  }

  bool take(const Node& node, graph::BinaryKind kind) {
    const bool turned = node.inputs[0] != so_far_;
    if (turned && kind != graph::BinaryKind::kAdd && kind != graph::BinaryKind::kMul) return false;
    const NodeId other = node.inputs[turned ? 0 : 1];
    const std::span<const float> values = part_.values(other);
    const std::optional<algorithm> how = onednn::algorithm_of(kind);
    if (!how) return false;
    if (values.empty()) return take_scalar(part_.node(other), kind);
    const memory::dims dims = part_.dims(other);
    if (options_.adds_in_place && kind == graph::BinaryKind::kAdd && finish_.steps.len() == 0 &&
        dims == part_.result_dims()) {
      finish_.steps.append_sum();
      finish_.added_to.emplace(values.begin(), values.end());
      return true;
    }
    const memory::desc order = options_.order(dims);
    finish_.steps.append_binary(*how, order);
    finish_.arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(finish_.steps.len() - 1) | DNNL_ARG_SRC_1] =
        packed(values, order.dims(), order);
    return true;
  }

  // A constant of one element is part of the code.
  bool take_scalar(const Node& node, graph::BinaryKind kind) {
    const auto* constant = as<graph::Constant>(node);
    if (constant == nullptr) return false;
    const std::vector<double> values = graph::read_floats(node.type.element, constant->data->bytes());
    if (values.size() != 1 || (kind != graph::BinaryKind::kMul && kind != graph::BinaryKind::kAdd))
      return false;
    const auto value = static_cast<float>(values[0]);
    const bool adds = kind == graph::BinaryKind::kAdd;
    finish_.steps.append_eltwise(1, algorithm::eltwise_linear, adds ? 1 : value, adds ? value : 0);
    return true;
  }

  const Part& part_;
  const FinishOptions& options_;
  NodeId so_far_;
  Finish finish_;
};

}  // namespace

dnnl::primitive_attr Finish::attributes() const {
  dnnl::primitive_attr result;
  result.set_post_ops(steps);
  return result;
}

Finish finish_of(bench::Activation activation) {
  Finish finish;
  if (activation == bench::Activation::kRelu) finish.steps.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
  if (activation == bench::Activation::kRelu6) finish.steps.append_eltwise(1, algorithm::eltwise_clip, 0, 6);
  return finish;
}

std::span<const float> Part::values(NodeId id) const {
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (kernel.inputs[i] == id) return operands.inputs[i];
  }
  return {};
}

std::optional<Finish> finish_of(const Part& part, NodeId main, const FinishOptions& options) {
  return Steps(part, main, options).run();
}

std::optional<algorithm> algorithm_of(graph::BinaryKind kind) {
  switch (kind) {
    case graph::BinaryKind::kAdd:
      return algorithm::binary_add;
    case graph::BinaryKind::kSub:
      return algorithm::binary_sub;
    case graph::BinaryKind::kMul:
      return algorithm::binary_mul;
    case graph::BinaryKind::kDiv:
      return algorithm::binary_div;
    case graph::BinaryKind::kMin:
      return algorithm::binary_min;
    case graph::BinaryKind::kMax:
      return algorithm::binary_max;
    default:
      return std::nullopt;
  }
}

}  // namespace tf::peers::onednn
