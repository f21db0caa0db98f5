// What NVRTC makes of windows that slide over images: sums in registers, images in shared memory.

#include <regex>

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends {
namespace {

struct Image {
  const char* name;
  int64_t channels, size, out, kernel, stride = 1, groups = 1;
};

TEST(Windows, KeepTheirSumsInRegisters) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  constexpr Image kImages[] = {{"3x3", 64, 56, 64, 3},           {"7x7", 3, 64, 64, 7, 2},
                               {"1x1", 96, 28, 64, 1},           {"strided", 32, 14, 48, 3, 2},
                               {"grouped", 32, 28, 32, 3, 1, 4}, {"depthwise", 32, 28, 32, 3, 1, 32}};
  for (const Image& image : kImages) {
    ops::Builder b;
    const int64_t pad = image.kernel / 2;
    const tensor::Buffer y = ops::conv(
        b, tf::test::f32_input(b, {2, image.channels, image.size, image.size}),
        tf::test::f32_constant(b, {image.out, image.channels / image.groups, image.kernel, image.kernel}),
        {.strides = {image.stride, image.stride},
         .pads_begin = {pad, pad},
         .pads_end = {pad, pad},
         .groups = image.groups});
    const tensor::Workload workload =
        *b.finish({ops::relu(b, ops::bias_add(b, y, tf::test::f32_constant(b, {image.out}), 1))});
    for (const char* arch : {"sm_75", "sm_90"}) {
      SCOPED_TRACE(absl::StrCat(image.name, " on ", arch));
      const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
      const schedule::Schedule schedule = recipes::default_schedule({.workload = workload, .target = target});
      const absl::StatusOr<GpuSource> source =
          gpu_source(test::lowered(workload, schedule, "window"), target, cuda_dialect());
      ASSERT_TRUE(source.ok()) << source.status();
      const absl::StatusOr<CudaCode> code = compile_cuda(source->text, target);
      ASSERT_TRUE(code.ok()) << code.status() << source->text;
      ASSERT_EQ(code->resources.size(), 1u);  // one launch, padding and what follows included
      EXPECT_FALSE(code->resources.begin()->second.spills());
      EXPECT_FALSE(std::regex_search(code->ptx, std::regex("\\.local"))) << source->text;
      EXPECT_TRUE(std::regex_search(code->ptx, std::regex("ld\\.shared"))) << source->text;
    }
  }
}

}  // namespace
}  // namespace tf::backends
