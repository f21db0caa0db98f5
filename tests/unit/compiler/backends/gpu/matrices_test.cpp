// What NVRTC makes of convolutions by matrix instructions: no spills, the gathered matrices in shared memory.

#include <regex>

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends {
namespace {

using tensor::Element;

struct TensorImage {
  const char* name;
  int64_t batch, channels, size, out, kernel, stride;
  bool channels_last;
  int copies;  // asynchronous, of 16 bytes, in the text: of the matrices that lie in memory as they are multiplied
};

const tensor::Layout kLastChannels{{{0, 0}, {2, 0}, {3, 0}, {1, 0}}};

tensor::KernelSpec half_convolution(const TensorImage& image, const target::Target& target) {
  ops::Builder b;
  const auto extents = [](std::initializer_list<int64_t> values) {
    std::vector<tensor::Expr> all;
    for (const int64_t value : values) all.push_back(tensor::imm(value));
    return all;
  };
  const int64_t pad = image.kernel / 2;
  tensor::Buffer y = ops::conv(
      b, b.input("x", Element::kFloat16, extents({image.batch, image.channels, image.size, image.size})),
      b.constant("w", Element::kFloat16, extents({image.out, image.channels, image.kernel, image.kernel})),
      {.strides = {image.stride, image.stride}, .pads_begin = {pad, pad}, .pads_end = {pad, pad}});
  y = ops::bias_add(b, y, b.constant("bias", Element::kFloat16, extents({image.out})), 1);
  tensor::KernelSpec kernel{.workload = *b.finish({ops::relu(b, y)}), .target = target};
  if (image.channels_last) kernel.ports = {{kLastChannels}, {kLastChannels}};
  return kernel;
}

// Calls, without the function itself.
int copies_in(const std::string& text, const std::string& call) {
  int count = 0;
  for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1))
    count += text.compare(at + call.size(), 4, "void") != 0 ? 1 : 0;
  return count;
}

TEST(Matrices, OfConvolutionsStayInRegistersAndSharedMemory) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  constexpr TensorImage kImages[] = {
      {"3x3", 8, 64, 56, 64, 3, 1, false, 1},       {"3x3, channels last", 8, 64, 56, 64, 3, 1, true, 2},
      {"strided", 8, 128, 28, 256, 3, 2, false, 1}, {"first", 8, 3, 224, 64, 7, 2, false, 0},
      {"1x1", 8, 256, 56, 64, 1, 1, false, 2},      {"in parts", 1, 512, 7, 512, 3, 1, false, 1}};
  for (const TensorImage& image : kImages) {
    for (const char* arch : {"sm_75", "sm_80", "sm_90a"}) {
      SCOPED_TRACE(absl::StrCat(image.name, " on ", arch));
      const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
      const tensor::KernelSpec kernel = half_convolution(image, target);
      const recipes::Sketch sketch = recipes::sketches_of(kernel).at(0);
      EXPECT_TRUE(sketch.family.starts_with("tensor convolution")) << sketch.family;
      const auto lowered =
          passes::lower(kernel.workload, recipes::instantiate(sketch, sketch.default_point()), kernel.ports,
                        {.name = "conv", .pipeline = passes::gpu_pipeline()});
      ASSERT_TRUE(lowered.ok()) << lowered.status();
      const absl::StatusOr<GpuSource> source = gpu_source(lowered->function, target, cuda_dialect());
      ASSERT_TRUE(source.ok()) << source.status();
      const absl::StatusOr<CudaCode> code = compile_cuda(source->text, target);
      ASSERT_TRUE(code.ok()) << code.status() << source->text;
      for (const auto& [name, resources] : code->resources) EXPECT_FALSE(resources.spills()) << name;
      EXPECT_FALSE(std::regex_search(code->ptx, std::regex("\\.local"))) << source->text;
      EXPECT_TRUE(std::regex_search(code->ptx, std::regex("mma(_async)?\\.sync"))) << source->text;
      // In the loop, and before it for two steps.
      if (target.has("cp_async")) {
        EXPECT_EQ(copies_in(source->text, "tf_copy_async_16("), 3 * image.copies) << source->text;
      }
    }
  }
}

}  // namespace
}  // namespace tf::backends
