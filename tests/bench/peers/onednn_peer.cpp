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

memory::desc floats(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

// The values in the layout that a primitive asked for.
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

Contender make(const bench::Gemm& g, const bench::Operands& operands, double tolerance) {
  const memory::dims a_dims{g.m, g.k}, b_dims{g.k, g.n}, y_dims{g.m, g.n};
  const dnnl::matmul::primitive_desc chosen(
      dnnl::matmul::desc(floats(a_dims, Tag::ab), floats(b_dims, g.constant_b ? Tag::any : Tag::ab),
                         floats(y_dims, Tag::ab)),
      engine().engine);
  memory y(chosen.dst_desc(), engine().engine);
  return {.name = "onednn",
          .note = chosen.impl_info_str(),
          .tolerance = tolerance,
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

Contender make(const bench::Convolution& c, const bench::Operands& operands, algorithm how,
               double tolerance) {
  const memory::dims x_dims{1, c.channels, c.extent, c.extent};
  const memory::dims y_dims{1, c.filters, c.output_extent(), c.output_extent()};
  const bool grouped = c.groups > 1;
  const memory::dims w_dims =
      grouped ? memory::dims{c.groups, c.filters / c.groups, c.channels / c.groups, c.kernel, c.kernel}
              : memory::dims{c.filters, c.channels, c.kernel, c.kernel};
  const memory::dims strides(2, c.stride), pads(2, c.padding());
  const dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, how, floats(x_dims, Tag::any),
                                      floats(w_dims, Tag::any), floats({c.filters}, Tag::a),
                                      floats(y_dims, Tag::any), strides, pads, pads),
      attributes(c.activation), engine().engine);
  memory y(chosen.dst_desc(), engine().engine);
  const Tag w_tag = grouped ? Tag::goihw : Tag::oihw;
  const bool winograd = how == algorithm::convolution_winograd;
  return {.name = winograd ? "onednn winograd" : "onednn direct",
          .note = chosen.impl_info_str(),
          .tolerance = winograd ? 64 * tolerance : tolerance,  // it does not say how large its tiles are
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
                                         int threads, double tolerance) {
  omp_set_num_threads(threads);
  std::vector<Contender> contenders;
  if (const bench::Gemm* gemm = std::get_if<bench::Gemm>(&kernel.shape)) {
    try_add(contenders, [&] { return make(*gemm, operands, tolerance); });
    return contenders;
  }
  const bench::Convolution& convolution = std::get<bench::Convolution>(kernel.shape);
  try_add(contenders, [&] { return make(convolution, operands, algorithm::convolution_direct, tolerance); });
  if (convolution.kernel == 3 && convolution.stride == 1 && convolution.groups == 1)
    try_add(contenders,
            [&] { return make(convolution, operands, algorithm::convolution_winograd, tolerance); });
  return contenders;
}

}  // namespace tf::peers
