#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers::onednn {
namespace {

// With as many axes as the result.
memory::dims aligned(memory::dims dims, size_t rank) {
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

Primitive binary(const Part& part, graph::NodeId whole, graph::NodeId other, algorithm how,
                 const Finish& finish, double tolerance) {
  const memory::dims y = part.result_dims(), small = aligned(part.dims(other), y.size());
  const dnnl::binary::primitive_desc chosen({how, feature_map(y), feature_map(small), feature_map(y)},
                                            finish.attributes(), engine());
  Primitive p{.name = "onednn",
              .note = chosen.impl_info_str(),
              .tolerance = tolerance,
              .primitive = dnnl::binary(chosen),
              .arguments = finish.arguments,
              .result = y};
  p.arguments[DNNL_ARG_SRC_0] = packed(part.values(whole), y, chosen.src0_desc());
  p.arguments[DNNL_ARG_SRC_1] = packed(part.values(other), small, chosen.src1_desc());
  p.arguments[DNNL_ARG_DST] = memory(chosen.dst_desc(), engine());
  return p;
}

}  // namespace

void add_elementwise(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  const graph::NodeId main = part.kernel.group.nodes[0];
  const graph::Node& node = part.node(main);
  const auto* op = graph::as<graph::Binary>(node);
  const std::optional<algorithm> how = op != nullptr ? algorithm_of(op->kind) : std::nullopt;
  if (!how || part.values(node.inputs[0]).empty() || part.values(node.inputs[1]).empty()) return;
  const memory::dims y = part.result_dims();
  const bool turned = part.dims(node.inputs[0]) != y;
  const bool commutes = op->kind == graph::BinaryKind::kAdd || op->kind == graph::BinaryKind::kMul;
  if (part.dims(node.inputs[turned ? 1 : 0]) != y || (turned && !commutes)) return;
  const auto order = [&](const memory::dims& dims) { return feature_map(aligned(dims, y.size())); };
  const std::optional<Finish> finish = finish_of(part, main, {.order = order});
  if (!finish) return;
  try_add(contenders, [&] {
    return binary(part, node.inputs[turned ? 1 : 0], node.inputs[turned ? 0 : 1], *how, *finish, tolerance);
  });
}

}  // namespace tf::peers::onednn
