#include "compiler/graph/element_values.h"
#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers::onednn {
namespace {

using graph::as;

constexpr auto kInference = dnnl::prop_kind::forward_inference;

Primitive softmax(const Part& part, const graph::Softmax& op, double tolerance) {
  const memory::dims x = part.result_dims();
  const auto axis = static_cast<int>(op.axis);
  if (op.log)
    return of_first_input<dnnl::logsoftmax_forward>(part, x, {{kInference, row_major(x), axis}, engine()},
                                                    tolerance);
  return of_first_input<dnnl::softmax_forward>(part, x, {{kInference, row_major(x), axis}, engine()},
                                               tolerance);
}

Primitive lrn(const Part& part, const graph::Lrn& op, double tolerance) {
  const memory::dims x = part.result_dims();
  const dnnl::lrn_forward::primitive_desc chosen(
      {kInference, algorithm::lrn_across_channels, feature_map(x), op.size, static_cast<float>(op.alpha),
       static_cast<float>(op.beta), static_cast<float>(op.bias)},
      engine());
  return of_first_input<dnnl::lrn_forward>(part, x, chosen, tolerance);
}

// What the nodes of a layer norm, however it is written, hold beside their arithmetic.
struct LayerNorm {
  std::span<const float> scale, shift;  // of the last axis
  double epsilon = 0;
};
std::optional<LayerNorm> layer_norm_of(const Part& part) {
  LayerNorm found;
  const auto width = static_cast<size_t>(part.result_dims().back());
  for (const graph::NodeId id : part.kernel.group.nodes) {
    const graph::Node& node = part.node(id);
    const auto* binary = as<graph::Binary>(node);
    if (binary == nullptr) continue;
    for (const graph::NodeId operand : node.inputs) {
      const auto* constant = as<graph::Constant>(part.node(operand));
      if (constant == nullptr) continue;
      const std::span<const float> values = part.values(operand);
      if (values.size() == width && binary->kind == graph::BinaryKind::kMul) found.scale = values;
      if (values.size() == width && binary->kind == graph::BinaryKind::kAdd) found.shift = values;
      if (values.empty() && binary->kind == graph::BinaryKind::kAdd)
        found.epsilon = graph::read_floats(part.node(operand).type.element, constant->data->bytes())[0];
    }
  }
  if (found.scale.empty() || found.shift.empty()) return std::nullopt;
  return found;
}

Primitive layer_norm(const Part& part, const LayerNorm& norm, double tolerance) {
  const memory::dims x = part.result_dims(), row{x.back()};
  using Flags = dnnl::normalization_flags;
  const dnnl::layer_normalization_forward::primitive_desc chosen(
      {kInference, row_major(x), static_cast<float>(norm.epsilon), Flags::use_scale | Flags::use_shift},
      engine());
  Primitive p = of_first_input<dnnl::layer_normalization_forward>(part, x, chosen, tolerance);
  p.arguments[DNNL_ARG_SCALE] = packed(norm.scale, row, row_major(row));
  p.arguments[DNNL_ARG_SHIFT] = packed(norm.shift, row, row_major(row));
  return p;
}

}  // namespace

void add_softmax(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  if (part.kernel.group.nodes.size() > 1) return;
  const auto& op = std::get<graph::Softmax>(part.kernel.find<graph::Softmax>()->op);
  try_add(contenders, [&] { return softmax(part, op, tolerance); });
}

void add_normalization(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  if (const graph::Node* node = part.kernel.find<graph::Lrn>()) {
    if (part.kernel.group.nodes.size() == 1)
      try_add(contenders, [&] { return lrn(part, std::get<graph::Lrn>(node->op), tolerance); });
  } else if (const std::optional<LayerNorm> norm = layer_norm_of(part)) {
    try_add(contenders, [&] { return layer_norm(part, *norm, tolerance); });
  }
}

}  // namespace tf::peers::onednn
