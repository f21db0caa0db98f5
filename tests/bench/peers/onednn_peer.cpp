#include "tests/bench/peers/onednn_peer.h"

#include <omp.h>

#include <cstdio>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace tf::peers {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Tag = memory::format_tag;

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Engine& engine() {
  static Engine one;
  return one;
}

// What a primitive computes with.
struct Types {
  memory::data_type x = memory::data_type::f32, w = x, bias = x, y = x;
};
Types types_of(tensor::Element element) {
  using Type = memory::data_type;
  switch (element) {
    case tensor::Element::kBFloat16:
      return {Type::bf16, Type::bf16, Type::f32, Type::bf16};
    case tensor::Element::kInt8:
      return {Type::s8, Type::s8, Type::s32, Type::s32};
    case tensor::Element::kUInt8:
      return {Type::u8, Type::s8, Type::s32, Type::s32};
    default:
      return {};
  }
}

// How a kernel is computed, beside the algorithm.
struct Way {
  Types types;
  std::string suffix;  // of its name
  double tolerance = 0;
};

memory::desc floats(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

// The values in the elements and the layout that a primitive asked for.
memory packed(std::span<const float> values, const memory::dims& dims, Tag tag, const memory::desc& wanted) {
  memory plain(floats(dims, tag), engine().engine);
  std::copy(values.begin(), values.end(), static_cast<float*>(plain.get_data_handle()));
  if (wanted == plain.get_desc()) return plain;
  memory out(wanted, engine().engine);
  dnnl::reorder(plain, out).execute(engine().stream, plain, out);
  engine().stream.wait();
  return out;
}

std::function<void(std::span<float>)> reader(const memory& source, const memory::dims& dims, Tag tag) {
  return [=](std::span<float> out) {
    memory plain(floats(dims, tag), engine().engine, out.data());
    memory from = source;
    dnnl::reorder(from, plain).execute(engine().stream, from, plain);
    engine().stream.wait();
  };
}

std::function<void()> runner(dnnl::primitive primitive, std::unordered_map<int, memory> arguments) {
  return [primitive = std::move(primitive), arguments = std::move(arguments)] {
    primitive.execute(engine().stream, arguments);
    engine().stream.wait();
  };
}

Contender make(const bench::Gemm& g, const bench::Operands& operands, const Way& way) {
  const Types& t = way.types;
  const memory::dims a_dims{g.m, g.k}, b_dims{g.k, g.n}, y_dims{g.m, g.n};
  const dnnl::matmul::primitive_desc chosen(
      dnnl::matmul::desc(memory::desc(a_dims, t.x, Tag::ab),
                         memory::desc(b_dims, t.w, g.constant_b ? Tag::any : Tag::ab),
                         memory::desc(y_dims, t.y, Tag::ab)),
      engine().engine);
  memory y(chosen.dst_desc(), engine().engine);
  return {.name = "onednn" + way.suffix,
          .note = chosen.impl_info_str(),
          .tolerance = way.tolerance,
          .run = runner(dnnl::matmul(chosen),
                        {{DNNL_ARG_SRC, packed(operands.x, a_dims, Tag::ab, chosen.src_desc())},
                         {DNNL_ARG_WEIGHTS, packed(operands.w, b_dims, Tag::ab, chosen.weights_desc())},
                         {DNNL_ARG_DST, y}}),
          .read_out = reader(y, y_dims, Tag::ab)};
}

dnnl::primitive_attr attributes(bench::Activation activation) {
  dnnl::post_ops post;
  if (activation == bench::Activation::kRelu) post.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
  if (activation == bench::Activation::kRelu6) post.append_eltwise(1, algorithm::eltwise_clip, 0, 6);
  dnnl::primitive_attr result;
  result.set_post_ops(post);
  return result;
}

Contender make(const bench::Convolution& c, const bench::Operands& operands, algorithm how, const Way& way) {
  const Types& t = way.types;
  const memory::dims x_dims{1, c.channels, c.extent, c.extent};
  const memory::dims y_dims{1, c.filters, c.output_extent(), c.output_extent()};
  const bool grouped = c.groups > 1;
  const memory::dims w_dims =
      grouped ? memory::dims{c.groups, c.filters / c.groups, c.channels / c.groups, c.kernel, c.kernel}
              : memory::dims{c.filters, c.channels, c.kernel, c.kernel};
  const memory::dims strides(2, c.stride), pads(2, c.padding());
  const dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(
          dnnl::prop_kind::forward_inference, how, memory::desc(x_dims, t.x, Tag::any),
          memory::desc(w_dims, t.w, Tag::any), memory::desc({c.filters}, t.bias, Tag::a),
          memory::desc(y_dims, t.y, Tag::any), strides, pads, pads),
      attributes(c.activation), engine().engine);
  memory y(chosen.dst_desc(), engine().engine);
  const Tag w_tag = grouped ? Tag::goihw : Tag::oihw;
  const bool winograd = how == algorithm::convolution_winograd;
  return {
      .name = (winograd ? "onednn winograd" : "onednn direct") + way.suffix,
      .note = chosen.impl_info_str(),
      .tolerance = winograd ? 64 * way.tolerance : way.tolerance,  // it does not say how large its tiles are
      .run = runner(dnnl::convolution_forward(chosen),
                    {{DNNL_ARG_SRC, packed(operands.x, x_dims, Tag::nchw, chosen.src_desc())},
                     {DNNL_ARG_WEIGHTS, packed(operands.w, w_dims, w_tag, chosen.weights_desc())},
                     {DNNL_ARG_BIAS, packed(operands.bias, {c.filters}, Tag::a, chosen.bias_desc())},
                     {DNNL_ARG_DST, y}}),
      .read_out = reader(y, y_dims, Tag::nchw)};
}

// Nothing if oneDNN has no such primitive.
template <typename Make>
void try_add(std::vector<Contender>& contenders, Make make_contender) {
  try {
    contenders.push_back(make_contender());
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) std::fprintf(stderr, "peers_bench: onednn: %s\n", error.what());
  }
}

}  // namespace

std::vector<Contender> onednn_contenders(const bench::Kernel& kernel, const bench::Operands& operands,
                                         const OnednnOptions& options) {
  omp_set_num_threads(options.threads);
  const bool plain = kernel.element == tensor::Element::kFloat32;
  std::vector<Way> ways = {{types_of(kernel.element), "", options.tolerance}};
  constexpr double kOfTwoFactors = 2 * 0x1p-8;
  if (plain && options.bf16) {
    Types stored = types_of(tensor::Element::kBFloat16);
    stored.y = memory::data_type::f32;
    ways.push_back({stored, " bf16", options.tolerance + kOfTwoFactors});
  }
  std::vector<Contender> contenders;
  for (const Way& way : ways) {
    if (const bench::Gemm* gemm = std::get_if<bench::Gemm>(&kernel.shape)) {
      try_add(contenders, [&] { return make(*gemm, operands, way); });
      continue;
    }
    const bench::Convolution& c = std::get<bench::Convolution>(kernel.shape);
    try_add(contenders, [&] { return make(c, operands, algorithm::convolution_direct, way); });
    if (plain && way.suffix.empty() && c.kernel == 3 && c.stride == 1 && c.groups == 1)
      try_add(contenders, [&] { return make(c, operands, algorithm::convolution_winograd, way); });
  }
  return contenders;
}

}  // namespace tf::peers
