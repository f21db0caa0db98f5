#include <algorithm>

#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers::onednn {
namespace {

Primitive concat(const Part& part, const graph::Concat& op) {
  std::vector<memory::desc> orders;
  std::vector<memory::dims> dims;
  for (const graph::NodeId id : part.kernel.inputs) {
    dims.push_back(part.dims(id));
    orders.push_back(feature_map(dims.back()));
  }
  // All of them in one order.
  const bool plain = std::any_of(dims.begin(), dims.end(),
                                 [](const memory::dims& d) { return feature_map(d) == row_major(d); });
  for (size_t i = 0; plain && i < dims.size(); ++i) orders[i] = row_major(dims[i]);
  const memory::dims y = part.result_dims();
  const dnnl::concat::primitive_desc chosen(plain ? row_major(y) : feature_map(y), static_cast<int>(op.axis),
                                            orders, engine());
  Primitive p{.name = "onednn",
              .note = chosen.impl_info_str(),
              .tolerance = 0,
              .primitive = dnnl::concat(chosen),
              .arguments = {{DNNL_ARG_DST, memory(chosen.dst_desc(), engine())}},
              .result = y};
  for (size_t i = 0; i < dims.size(); ++i) {
    p.arguments[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i)] =
        packed(part.operands.inputs[i], dims[i], orders[i]);
  }
  return p;
}

Primitive reorder(const memory& from, const memory::desc& to, const memory::dims& result) {
  const dnnl::reorder::primitive_desc chosen(engine(), from.get_desc(), engine(), to);
  return {.name = "onednn",
          .note = chosen.impl_info_str(),
          .tolerance = 0,
          .primitive = dnnl::reorder(chosen),
          .arguments = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, memory(to, engine())}},
          .result = result};
}

// Axis i of the result is axis perm[i] of the values, which stand row-major.
Primitive transpose(const Part& part, const graph::Transpose& op) {
  const memory::dims x = part.dims(part.kernel.inputs[0]), y = part.result_dims();
  memory::dims x_strides(x.size(), 1), strides;
  for (size_t axis = x.size(); axis-- > 1;) x_strides[axis - 1] = x_strides[axis] * x[axis];
  for (const int64_t axis : op.perm) strides.push_back(x_strides[static_cast<size_t>(axis)]);
  const memory from(memory::desc(y, memory::data_type::f32, strides), engine());
  std::copy(part.operands.inputs[0].begin(), part.operands.inputs[0].end(),
            static_cast<float*>(from.get_data_handle()));
  return reorder(from, row_major(y), y);
}

// Nothing for a layout that is not one of theirs.
std::optional<memory::desc> order_of(const tensor::Layout& layout, const memory::dims& dims) {
  if (layout.is_row_major()) return row_major(dims);
  if (layout == tensor::Layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}})
    return memory::desc(dims, memory::data_type::f32, memory::format_tag::nChw16c);
  return std::nullopt;
}

}  // namespace

void add_movement(const Part& part, double /*tolerance*/, std::vector<Contender>& contenders) {
  const std::vector<graph::NodeId>& nodes = part.kernel.group.nodes;
  if (nodes.empty()) {
    const memory::dims dims = part.dims(part.kernel.inputs[0]);
    const std::optional<memory::desc> from = order_of(part.kernel.task.kernel.ports.inputs[0], dims),
                                      to = order_of(part.kernel.task.kernel.ports.outputs[0], dims);
    if (!from || !to) return;
    try_add(contenders, [&] { return reorder(packed(part.operands.inputs[0], dims, *from), *to, dims); });
    return;
  }
  if (nodes.size() > 1) return;
  const graph::Node& node = part.node(nodes[0]);
  if (const auto* op = graph::as<graph::Concat>(node)) try_add(contenders, [&] { return concat(part, *op); });
  if (const auto* op = graph::as<graph::Transpose>(node))
    try_add(contenders, [&] { return transpose(part, *op); });
}

}  // namespace tf::peers::onednn
