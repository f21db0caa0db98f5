#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers::onednn {
namespace {

struct Window {
  memory::dims kernel, strides, pads_begin, pads_end;
};

Primitive pool(const Part& part, algorithm how, const Window& window, double tolerance) {
  const memory::dims x = part.dims(part.kernel.inputs[0]), y = part.result_dims();
  const dnnl::pooling_forward::primitive_desc chosen(
      dnnl::pooling_forward::desc(dnnl::prop_kind::forward_inference, how, feature_map(x), any_order(y),
                                  window.strides, window.kernel, window.pads_begin, window.pads_end),
      engine());
  Primitive p = of_first_input<dnnl::pooling_forward>(part, x, chosen, tolerance);
  p.name = "onednn pool";
  return p;
}

Primitive reduction(const Part& part, algorithm how, const memory::dims& y, double tolerance) {
  const memory::dims x = part.dims(part.kernel.inputs[0]);
  const dnnl::reduction::primitive_desc chosen(
      dnnl::reduction::desc(how, feature_map(x), feature_map(y), 0, 0), engine());
  Primitive p = of_first_input<dnnl::reduction>(part, x, chosen, tolerance);
  p.name = "onednn reduction";
  return p;
}

std::optional<algorithm> algorithm_of(graph::ReduceKind kind) {
  switch (kind) {
    case graph::ReduceKind::kSum:
      return algorithm::reduction_sum;
    case graph::ReduceKind::kMean:
      return algorithm::reduction_mean;
    case graph::ReduceKind::kMax:
      return algorithm::reduction_max;
    case graph::ReduceKind::kMin:
      return algorithm::reduction_min;
    default:
      return std::nullopt;
  }
}

}  // namespace

void add_pool(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  const graph::Node& node = *part.kernel.find<graph::Pool>();
  const auto& op = std::get<graph::Pool>(node.op);
  const auto given = [&](const std::vector<int64_t>& values, int64_t otherwise) {
    return values.empty() ? memory::dims(op.kernel.size(), otherwise) : values;
  };
  if (part.kernel.group.nodes.size() > 1 || given(op.dilations, 1) != memory::dims(op.kernel.size(), 1))
    return;
  const algorithm how = op.kind == graph::PoolKind::kMax ? algorithm::pooling_max
                        : op.count_include_pad           ? algorithm::pooling_avg_include_padding
                                                         : algorithm::pooling_avg_exclude_padding;
  const Window window{op.kernel, given(op.strides, 1), given(op.pads_begin, 0), given(op.pads_end, 0)};
  try_add(contenders, [&] { return pool(part, how, window, tolerance); });
}

void add_reduction(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  const graph::Node& node = *part.kernel.find<graph::Reduce>();
  const auto& op = std::get<graph::Reduce>(node.op);
  const std::optional<algorithm> how = algorithm_of(op.kind);
  if (part.kernel.group.nodes.size() > 1 || !how) return;
  const memory::dims x = part.dims(node.inputs[0]);
  memory::dims kept = x;
  for (const int64_t axis : op.axes) kept[static_cast<size_t>(axis)] = 1;
  try_add(contenders, [&] { return reduction(part, *how, kept, tolerance); });
  const bool all_pixels = x.size() == 4 && kept == memory::dims{x[0], x[1], 1, 1};
  if (!all_pixels || !op.keep_dims || op.kind != graph::ReduceKind::kMean) return;
  const Window window{{x[2], x[3]}, {1, 1}, {0, 0}, {0, 0}};
  try_add(contenders, [&] { return pool(part, algorithm::pooling_avg_exclude_padding, window, tolerance); });
}

}  // namespace tf::peers::onednn
