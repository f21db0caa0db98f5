#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers::onednn {
namespace {

struct Problem {
  memory::dims x, w, y;  // w by groups if there is more than one
  memory::dims strides, dilations, pads_begin, pads_end;
  bool has_bias = true;
};

Primitive convolution(const Problem& p, const bench::Operands& operands, const Finish& finish, algorithm how,
                      const Way& way) {
  const Types& t = way.types;
  const memory::dims bias_dims{p.y[1]};
  const memory::desc bias =
      p.has_bias ? memory::desc(bias_dims, t.bias, memory::format_tag::a) : memory::desc();
  const dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, how, any_order(p.x, t.x),
                                      any_order(p.w, t.w), bias, any_order(p.y, t.y), p.strides, p.dilations,
                                      p.pads_begin, p.pads_end),
      finish.attributes(), engine());
  const bool winograd = how == algorithm::convolution_winograd;
  Primitive primitive{
      .name = (winograd ? "onednn winograd" : "onednn direct") + way.suffix,
      .note = chosen.impl_info_str(),
      .tolerance = winograd ? 64 * way.tolerance : way.tolerance,  // it does not say how large its tiles are
      .primitive = dnnl::convolution_forward(chosen),
      .arguments = finish.arguments,
      .result = p.y};
  Arguments& arguments = primitive.arguments;
  arguments[DNNL_ARG_SRC] = packed(operands.inputs[0], p.x, chosen.src_desc());
  arguments[DNNL_ARG_WEIGHTS] = packed(operands.inputs[1], p.w, chosen.weights_desc());
  if (p.has_bias) arguments[DNNL_ARG_BIAS] = packed(operands.inputs[2], bias_dims, chosen.bias_desc());
  arguments[DNNL_ARG_DST] = finish.added_to ? packed(*finish.added_to, p.y, chosen.dst_desc())
                                            : memory(chosen.dst_desc(), engine());
  return primitive;
}

void add_both(const Problem& p, const bench::Operands& operands, const Finish& finish, const Way& way,
              std::vector<Contender>& contenders) {
  const auto add = [&](algorithm how) {
    try_add(contenders, [&] { return convolution(p, operands, finish, how, way); });
  };
  add(algorithm::convolution_direct);
  const bool plain = way.types.x == memory::data_type::f32;
  const bool three_by_three = p.w.size() == 4 && p.w[2] == 3 && p.w[3] == 3;
  if (plain && three_by_three && p.strides == memory::dims(2, 1)) add(algorithm::convolution_winograd);
}

memory::dims by_groups(memory::dims w, int64_t groups) {
  if (groups == 1) return w;
  w[0] /= groups;
  w.insert(w.begin(), groups);
  return w;
}

}  // namespace

void add_convolution(const bench::Convolution& c, const bench::Operands& operands, const Way& way,
                     std::vector<Contender>& contenders) {
  const memory::dims pads(2, c.padding());
  const Problem problem{.x = {1, c.channels, c.extent, c.extent},
                        .w = by_groups({c.filters, c.channels / c.groups, c.kernel, c.kernel}, c.groups),
                        .y = {1, c.filters, c.output_extent(), c.output_extent()},
                        .strides = memory::dims(2, c.stride),
                        .dilations = memory::dims(2, 0),
                        .pads_begin = pads,
                        .pads_end = pads};
  add_both(problem, operands, finish_of(c.activation), way, contenders);
}

void add_convolution(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  const graph::Node& node = *part.kernel.find<graph::Conv>();
  const auto& op = std::get<graph::Conv>(node.op);
  const memory::dims x = part.dims(node.inputs[0]);
  if (&node != &part.node(part.kernel.group.nodes[0]) || x.size() != 4) return;
  const auto given = [](const std::vector<int64_t>& values, int64_t otherwise) {
    return values.empty() ? memory::dims(2, otherwise) : values;
  };
  Problem problem{.x = x,
                  .w = by_groups(part.dims(node.inputs[1]), op.groups),
                  .y = part.kernel.network->shape(node.type),
                  .strides = given(op.strides, 1),
                  .dilations = given(op.dilations, 1),
                  .pads_begin = given(op.pads_begin, 0),
                  .pads_end = given(op.pads_end, 0),
                  .has_bias = node.inputs.size() > 2};
  for (int64_t& dilation : problem.dilations) --dilation;  // oneDNN counts what lies between
  const std::optional<Finish> finish =
      finish_of(part, part.kernel.group.nodes[0], {.order = feature_map, .adds_in_place = true});
  if (finish) add_both(problem, part.operands, *finish, {.tolerance = tolerance}, contenders);
}

}  // namespace tf::peers::onednn
