#include "tests/bench/kernels/kernel_table.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/tensor/evaluate.h"

namespace tf::bench {
namespace {

using tensor::Element;
using tensor::imm;

constexpr Activation kNone = Activation::kNone;
constexpr Activation kRelu6 = Activation::kRelu6;

const std::vector<Kernel>& table() {
  static const std::vector<Kernel> all = {
      // Square, b given at run time: packing it is part of the time.
      {"gemm_128", Gemm{128, 128, 128}},
      {"gemm_512", Gemm{512, 512, 512}},
      {"gemm_1024", Gemm{1024, 1024, 1024}},
      {"gemm_2048", Gemm{2048, 2048, 2048}},
      {"gemm_1024_constant", Gemm{1024, 1024, 1024, true}},
      {"gemm_2048_constant", Gemm{2048, 2048, 2048, true}},
      // Skinny, odd, one row.
      {"gemm_16x1024x1024", Gemm{16, 1024, 1024}},
      {"gemm_4096x64x256", Gemm{4096, 64, 256}},
      {"gemm_128x1024x256_constant", Gemm{128, 1024, 256, true}},
      {"gemm_127x129x131", Gemm{127, 129, 131}},
      {"gemm_333x555x777", Gemm{333, 555, 777}},
      {"gemv_1x1000x2048_constant", Gemm{1, 1000, 2048, true}},
      // resnet50
      {"resnet50_first_7x7_s2", Convolution{3, 64, 224, 7, 2}},
      {"resnet50_1x1_64_64_56", Convolution{64, 64, 56}},
      {"resnet50_3x3_64_64_56", Convolution{64, 64, 56, 3}},
      {"resnet50_1x1_64_256_56", Convolution{64, 256, 56, 1, 1, 1, kNone}},
      {"resnet50_1x1_256_64_56", Convolution{256, 64, 56}},
      {"resnet50_1x1_256_512_56_s2", Convolution{256, 512, 56, 1, 2, 1, kNone}},
      {"resnet50_3x3_128_128_28", Convolution{128, 128, 28, 3}},
      {"resnet50_1x1_128_512_28", Convolution{128, 512, 28}},
      {"resnet50_1x1_512_128_28", Convolution{512, 128, 28}},
      {"resnet50_3x3_256_256_14", Convolution{256, 256, 14, 3}},
      {"resnet50_1x1_1024_256_14", Convolution{1024, 256, 14}},
      {"resnet50_3x3_512_512_7", Convolution{512, 512, 7, 3}},
      // mobilenet_v2
      {"mobilenet_first_3x3_s2", Convolution{3, 32, 224, 3, 2, 1, kRelu6}},
      {"mobilenet_depthwise_96_112_s2", Convolution{96, 96, 112, 3, 2, 96, kRelu6}},
      {"mobilenet_depthwise_144_56", Convolution{144, 144, 56, 3, 1, 144, kRelu6}},
      {"mobilenet_depthwise_384_14", Convolution{384, 384, 14, 3, 1, 384, kRelu6}},
      {"mobilenet_1x1_32_192_28", Convolution{32, 192, 28, 1, 1, 1, kRelu6}},
      {"mobilenet_1x1_384_64_14", Convolution{384, 64, 14, 1, 1, 1, kNone}},
      // inception_v1
      {"inception_3x3_64_192_56", Convolution{64, 192, 56, 3}},
      {"inception_5x5_32_96_28", Convolution{32, 96, 28, 5}},
  };
  return all;
}

// Elements of a kernel's operands.
struct Elements {
  Element x, w, bias;
};
Elements elements_of(Element element) {
  if (tensor::is_float(element)) return {element, element, element};
  return {element, Element::kInt8, Element::kInt32};
}

tensor::Workload workload_of(const Gemm& g, const Elements& e) {
  ops::Builder b;
  const tensor::Buffer x = b.input("a", e.x, {imm(g.m), imm(g.k)});
  const tensor::Buffer w =
      g.constant_b ? b.constant("b", e.w, {imm(g.k), imm(g.n)}) : b.input("b", e.w, {imm(g.k), imm(g.n)});
  return *b.finish({ops::matmul(b, x, w)});
}

tensor::Workload workload_of(const Convolution& c, const Elements& e) {
  ops::Builder b;
  const tensor::Buffer x = b.input("x", e.x, {imm(1), imm(c.channels), imm(c.extent), imm(c.extent)});
  const tensor::Buffer w =
      b.constant("w", e.w, {imm(c.filters), imm(c.channels / c.groups), imm(c.kernel), imm(c.kernel)});
  const tensor::Buffer bias = b.constant("bias", e.bias, {imm(c.filters)});
  const std::vector<int64_t> pads(2, c.padding());
  tensor::Buffer y = ops::conv(
      b, x, w, {.strides = {c.stride, c.stride}, .pads_begin = pads, .pads_end = pads, .groups = c.groups});
  y = ops::bias_add(b, y, bias);
  if (c.activation == Activation::kRelu) y = ops::relu(b, y);
  if (c.activation == Activation::kRelu6) y = ops::clip(b, y, 0, 6);
  return *b.finish({y});
}

double flops_of(const Gemm& g) {
  return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
}

double flops_of(const Convolution& c) {
  const double pixels = static_cast<double>(c.output_extent() * c.output_extent());
  const double taps = static_cast<double>(c.channels / c.groups * c.kernel * c.kernel);
  return 2.0 * pixels * static_cast<double>(c.filters) * taps;
}

std::vector<float> random_floats(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

Operands make_operands(const Gemm& g, std::mt19937& random) {
  return {.inputs = {random_floats(g.m * g.k, random), random_floats(g.k * g.n, random)},
          .output_elements = g.m * g.n};
}

Operands make_operands(const Convolution& c, std::mt19937& random) {
  return {.inputs = {random_floats(c.channels * c.extent * c.extent, random),
                     random_floats(c.filters * (c.channels / c.groups) * c.kernel * c.kernel, random),
                     random_floats(c.filters, random)},
          .output_elements = c.filters * c.output_extent() * c.output_extent()};
}

tensor::Workload workload_of(const NetworkKernel& kernel, const Elements&) {
  absl::StatusOr<tensor::Workload> bound =
      tensor::bind(kernel.task.kernel.workload, kernel.task.kernel.binding);
  TF_CHECK(bound.ok()) << bound.status();
  return *std::move(bound);
}

double flops_of(const NetworkKernel& kernel) {
  return kernel.task.flops;
}

// One number of [low, high], as the element stores it.
float random_number(const tensor::Input& input, std::mt19937& random) {
  const Element element = input.buffer->element;
  const double unit = std::uniform_real_distribution<double>(0, 1)(random);
  if (!tensor::is_float(element))
    return static_cast<float>(std::floor(input.low + unit * (input.high - input.low + 1)));
  return static_cast<float>(tensor::round_to_element(element, input.low + unit * (input.high - input.low)));
}

Operands make_operands(const NetworkKernel& kernel, std::mt19937& random) {
  const tensor::Workload workload = workload_of(kernel, Elements{});
  Operands operands;
  for (const tensor::Input& input : workload.inputs) {
    std::vector<float>& values = operands.inputs.emplace_back(tensor::element_count(input.buffer));
    for (float& value : values) value = random_number(input, random);
  }
  operands.output_elements = tensor::element_count(workload.outputs[0]);
  return operands;
}

// Numbers of [-1, 1) as numbers of the element.
void fit(Element element, std::vector<float>& values) {
  for (float& v : values) {
    if (element == Element::kInt8 || element == Element::kUInt8) v = std::floor(v * 128);
    if (element == Element::kUInt8) v += 128;
    if (element == Element::kInt32) v = std::floor(v * 1000);
    if (tensor::is_float(element)) v = static_cast<float>(tensor::round_to_element(element, double{v}));
  }
}

void add_product(const Operands& o, int64_t x, int64_t w, Expected& sum) {
  const double product =
      static_cast<double>(o.inputs[0][static_cast<size_t>(x)]) * o.inputs[1][static_cast<size_t>(w)];
  sum.value += product;
  sum.magnitude += std::abs(product);
}

Expected expected_element(const Gemm& g, const Operands& o, int64_t index) {
  Expected sum{0, 0};
  for (int64_t k = 0; k < g.k; ++k) add_product(o, index / g.n * g.k + k, k * g.n + index % g.n, sum);
  return sum;
}

Expected expected_element(const Convolution& c, const Operands& o, int64_t index) {
  const int64_t extent = c.output_extent();
  const int64_t filter = index / (extent * extent);
  const int64_t top = index / extent % extent * c.stride - c.padding();
  const int64_t left = index % extent * c.stride - c.padding();
  const int64_t taken = c.channels / c.groups;
  const int64_t first = filter / (c.filters / c.groups) * taken;
  const double bias = o.inputs[2][static_cast<size_t>(filter)];
  Expected sum{bias, std::abs(bias)};
  for (int64_t channel = 0; channel < taken; ++channel) {
    for (int64_t i = std::max<int64_t>(0, -top); i < std::min(c.kernel, c.extent - top); ++i) {
      for (int64_t j = std::max<int64_t>(0, -left); j < std::min(c.kernel, c.extent - left); ++j) {
        add_product(o, ((first + channel) * c.extent + top + i) * c.extent + left + j,
                    ((filter * taken + channel) * c.kernel + i) * c.kernel + j, sum);
      }
    }
  }
  if (c.activation != Activation::kNone) sum.value = std::max(sum.value, 0.0);
  if (c.activation == Activation::kRelu6) sum.value = std::min(sum.value, 6.0);
  return sum;
}

Expected expected_element(const NetworkKernel&, const Operands&, int64_t) {
  TF_UNREACHABLE() << "a network's kernel has no formula";
}

int64_t bytes_of(const tensor::Buffer& buffer) {
  return tensor::element_count(buffer) * tensor::element_bytes(buffer->element);
}

}  // namespace

std::span<const Kernel> kernel_table() {
  return table();
}

Kernel with_element(Kernel kernel, Element element) {
  TF_CHECK(!std::holds_alternative<NetworkKernel>(kernel.shape)) << kernel.name;
  if (element != kernel.element) absl::StrAppend(&kernel.name, "_", std::string(element_name(element)));
  kernel.element = element;
  return kernel;
}

tensor::Workload workload_of(const Kernel& kernel) {
  return std::visit([&](const auto& shape) { return workload_of(shape, elements_of(kernel.element)); },
                    kernel.shape);
}

double flops_of(const Kernel& kernel) {
  return std::visit([](const auto& shape) { return flops_of(shape); }, kernel.shape);
}

Family family_of(const Kernel& kernel) {
  if (const auto* part = std::get_if<NetworkKernel>(&kernel.shape)) return family_of(*part);
  const auto* c = std::get_if<Convolution>(&kernel.shape);
  if (c == nullptr) return Family::kMatrixProduct;
  return c->is_depthwise() ? Family::kDepthwise : Family::kConvolution;
}

Traffic traffic_of(const Kernel& kernel) {
  const tensor::Workload workload = workload_of(kernel);
  const int64_t written = bytes_of(workload.outputs[0]);
  Traffic traffic{.read_bytes = 0, .written_bytes = written};
  const auto* part = std::get_if<NetworkKernel>(&kernel.shape);
  const graph::Node* gather = part != nullptr ? part->find<graph::Gather>() : nullptr;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const int64_t whole = bytes_of(workload.inputs[i].buffer);
    const bool is_table = gather != nullptr && part->inputs[i] == gather->inputs[0];
    traffic.read_bytes += is_table ? std::min(whole, written) : whole;
  }
  return traffic;
}

Operands make_operands(const Kernel& kernel) {
  std::mt19937 random(1);
  Operands operands =
      std::visit([&](const auto& shape) { return make_operands(shape, random); }, kernel.shape);
  if (std::holds_alternative<NetworkKernel>(kernel.shape)) return operands;
  const Elements elements = elements_of(kernel.element);
  const Element each[] = {elements.x, elements.w, elements.bias};
  for (size_t i = 0; i < operands.inputs.size(); ++i) fit(each[i], operands.inputs[i]);
  return operands;
}

Expected expected_element(const Kernel& kernel, const Operands& operands, int64_t index) {
  TF_CHECK(index >= 0 && index < operands.output_elements);
  return std::visit([&](const auto& shape) { return expected_element(shape, operands, index); },
                    kernel.shape);
}

}  // namespace tf::bench
