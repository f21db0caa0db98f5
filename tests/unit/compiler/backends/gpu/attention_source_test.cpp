// What NVRTC makes of attention by blocks of keys: whose scores are in registers.

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/gpu_source.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"

namespace tf::backends {
namespace {

// Queries, keys and values of f32, and of f16 whose sums are f32.
TEST(AttentionSource, FitsRegistersOfEachArchitecture) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const char* element : {"f32", "f16"}) {
    const std::string text = absl::StrReplaceAll(
        "workload v1\ninput p0: ELEMENT[8, 600, 64]\ninput p1: ELEMENT[8, 64, 600]\ninput p2: ELEMENT[8, "
        "600, 64]\n"
        "stage t0: f32[i0 < 8, i1 < 600, i2 < 600] = reduce sum[r0 < 64] cast<f32>(p0[i0, i1, r0]) * "
        "cast<f32>(p1[i0, r0, i2])\n"
        "stage t1: f32[i0 < 8, i1 < 600] = reduce max[r0 < 600] t0[i0, i1, r0]\n"
        "stage t2: f32[i0 < 8, i1 < 600, i2 < 600] = exp(t0[i0, i1, i2] - t1[i0, i1])\n"
        "stage t3: f32[i0 < 8, i1 < 600] = reduce sum[r0 < 600] t2[i0, i1, r0]\n"
        "stage t4: f32[i0 < 8, i1 < 600, i2 < 600] = t2[i0, i1, i2] / t3[i0, i1]\n"
        "stage t5: f32[i0 < 8, i1 < 600, i2 < 64] = reduce sum[r0 < 600] t4[i0, i1, r0] * cast<f32>(p2[i0, "
        "r0, i2])\n"
        "stage t6: ELEMENT[i0 < 8, i1 < 600, i2 < 64] = cast<ELEMENT>(t5[i0, i1, i2])\noutput t6\n",
        {{"ELEMENT", element}});
    const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(text);
    ASSERT_TRUE(workload.ok()) << workload.status();
    for (const char* arch : {"sm_75", "sm_87", "sm_90a", "sm_120"}) {
      const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
      const schedule::Schedule schedule =
          recipes::default_schedule({.workload = *workload, .target = target});
      EXPECT_THAT(to_string(schedule), testing::HasSubstr("rescale t1 t3 t5 256"));
      const auto lowered = passes::lower(*workload, schedule, {}, {.pipeline = passes::gpu_pipeline()});
      ASSERT_TRUE(lowered.ok()) << lowered.status();
      const absl::StatusOr<GpuSource> source = gpu_source(lowered->function, target, cuda_dialect());
      ASSERT_TRUE(source.ok()) << source.status();
      const absl::StatusOr<CudaCode> code = compile_cuda(source->text, target);
      ASSERT_TRUE(code.ok()) << code.status();
      EXPECT_EQ(code->resources.size(), 2u);
      for (const auto& [name, log] : code->resources)
        EXPECT_FALSE(log.spills()) << arch << " " << element << " " << name << " spills " << log.spill_bytes;
    }
  }
}

}  // namespace
}  // namespace tf::backends
