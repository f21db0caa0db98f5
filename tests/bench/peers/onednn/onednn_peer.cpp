#include "tests/bench/peers/onednn/onednn_peer.h"

#include <omp.h>

#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers {
namespace {

using onednn::Way;

onednn::Types types_of(tensor::Element element) {
  using Type = dnnl::memory::data_type;
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

std::vector<Way> ways_of(const bench::Kernel& kernel, const OnednnOptions& options) {
  std::vector<Way> ways = {{types_of(kernel.element), "", options.tolerance}};
  constexpr double kOfTwoFactors = 2 * 0x1p-8;
  if (kernel.element == tensor::Element::kFloat32 && options.bf16) {
    onednn::Types stored = types_of(tensor::Element::kBFloat16);
    stored.y = dnnl::memory::data_type::f32;
    ways.push_back({stored, " bf16", options.tolerance + kOfTwoFactors});
  }
  return ways;
}

void add(const onednn::Part& part, double tolerance, std::vector<Contender>& contenders) {
  switch (bench::family_of(part.kernel)) {
    case bench::Family::kMatrixProduct:
      return onednn::add_product(part, tolerance, contenders);
    case bench::Family::kConvolution:
    case bench::Family::kDepthwise:
      return onednn::add_convolution(part, tolerance, contenders);
    case bench::Family::kPool:
      return onednn::add_pool(part, tolerance, contenders);
    case bench::Family::kReduction:
      return onednn::add_reduction(part, tolerance, contenders);
    case bench::Family::kNormalization:
      return onednn::add_normalization(part, tolerance, contenders);
    case bench::Family::kSoftmax:
      return onednn::add_softmax(part, tolerance, contenders);
    case bench::Family::kElementwise:
      return onednn::add_elementwise(part, tolerance, contenders);
    case bench::Family::kMovement:
      return onednn::add_movement(part, tolerance, contenders);
    case bench::Family::kAttention:
      return;  // two products and a softmax, of which each would be a primitive
  }
}

}  // namespace

std::vector<Contender> onednn_contenders(const bench::Kernel& kernel, const bench::Operands& operands,
                                         const OnednnOptions& options) {
  omp_set_num_threads(options.threads);
  std::vector<Contender> contenders;
  if (const auto* part = std::get_if<bench::NetworkKernel>(&kernel.shape)) {
    add({*part, operands}, options.tolerance, contenders);
    return contenders;
  }
  for (const Way& way : ways_of(kernel, options)) {
    if (const auto* gemm = std::get_if<bench::Gemm>(&kernel.shape)) {
      onednn::add_product(*gemm, operands, way, contenders);
    } else {
      onednn::add_convolution(std::get<bench::Convolution>(kernel.shape), operands, way, contenders);
    }
  }
  return contenders;
}

}  // namespace tf::peers
