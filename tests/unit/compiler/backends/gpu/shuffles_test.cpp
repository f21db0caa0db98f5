// Rows whose lanes add up by shuffles: CUDA C on host threads against the interpreter, and compiled by NVRTC.

#include <gmock/gmock.h>

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/opencl/opencl_dialect.h"
#include "tests/unit/compiler/backends/gpu/host_program.h"

namespace tf::backends {
namespace {

using ::testing::HasSubstr;

const target::Target kShuffles = *target::parse_target("cuda:arch=sm_90");

std::vector<tf::test::SmallWorkload> rows_of_all_kinds() {
  using ops::Builder;
  using tensor::Element;
  std::vector<tf::test::SmallWorkload> all = {
      {"softmax 5x70",
       [](Builder& b) {
         return ops::softmax(b, tf::test::f32_input(b, {5, 70}), 1);
       }},
      {"mean 9x33",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kMean, tf::test::f32_input(b, {9, 33}), {1}, true);
       }},
      {"maximum of all",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kMax, tf::test::f32_input(b, {7, 19}), {0, 1}, false);
       }},
      {"sum of f16",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kSum, tf::test::input_of(b, Element::kFloat16, {3, 50}), {1},
                            false);
       }},
      {"minimum of i32",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kMin,
                            tf::test::input_of(b, Element::kInt32, {6, 37}, {-99, 99}), {1}, false);
       }},
      {"sum of i64",
       [](Builder& b) {
         return ops::reduce(b, ops::ReduceKind::kSum,
                            tf::test::input_of(b, Element::kInt64, {6, 37}, {-99, 99}), {1}, false);
       }},
  };
  for (const tf::test::SmallWorkload& small : tf::test::small_workloads())
    if (small.name == "layer_norm" || small.name == "attention") all.push_back(small);
  return all;
}

std::vector<test::Host> shuffled_rows() {
  std::vector<test::Host> all;
  std::mt19937_64 random(5);
  for (const tf::test::SmallWorkload& small : rows_of_all_kinds()) {
    const tensor::Workload workload = tf::test::build_small(small);
    std::vector<recipes::Sketch> sketches = recipes::rows_on_gpu({.workload = workload, .target = kShuffles});
    if (sketches.empty()) sketches = recipes::attention_on_gpu({.workload = workload, .target = kShuffles});
    for (const recipes::Sketch& sketch : sketches) {
      if (!absl::StrContains(sketch.family, ", by ")) continue;
      recipes::Point point = sketch.default_point();
      for (int i = 0; i < 3; ++i) {
        const schedule::Schedule schedule = recipes::instantiate(sketch, point);
        point[0] = static_cast<uint32_t>(random() % sketch.parameters[0].choices.size());
        if (!schedule::apply(workload, schedule).ok()) continue;  // more rows a block than there are
        const std::string name = absl::StrCat("kernel_", all.size());
        test::Case each{absl::StrCat(small.name, ", ", sketch.family, " ", i),
                        test::lowered(workload, schedule, name)};
        absl::StatusOr<GpuSource> source = gpu_source(each.function, kShuffles, cuda_dialect());
        EXPECT_TRUE(source.ok()) << each.name << ": " << source.status();
        if (source.ok()) all.push_back({std::move(each), *std::move(source)});
      }
    }
  }
  return all;
}

TEST(Shuffles, ComputeWhatTheInterpreterDoes) {
  const std::vector<test::Host> all = shuffled_rows();
  EXPECT_GT(all.size(), 24u);
  for (const test::Host& each : all)
    EXPECT_THAT(each.source.text, HasSubstr("__shfl_xor_sync")) << each.kernel.name;
  test::expect_host_agrees(all, "");
}

TEST(Shuffles, AreNotInOpenClC) {
  const std::vector<test::Host> all = shuffled_rows();
  EXPECT_THAT(
      std::string(gpu_source(all.at(0).kernel.function, *target::parse_target("opencl"), opencl_dialect())
                      .status()
                      .message()),
      HasSubstr("OpenCL C has no shuffles, but a reduction runs over lanes of thread_x"));
}

TEST(Shuffles, CompileWithoutSpills) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const char* arch : {"cuda:arch=sm_75", "cuda:arch=sm_90"}) {
    for (const test::Host& each : shuffled_rows()) {
      const absl::StatusOr<CudaCode> code = compile_cuda(each.source.text, *target::parse_target(arch));
      ASSERT_TRUE(code.ok()) << each.kernel.name << ": " << code.status() << "\n" << each.source.text;
      for (const auto& [kernel, resources] : code->resources) {
        EXPECT_EQ(resources.spill_bytes, 0u) << each.kernel.name;
        EXPECT_EQ(resources.stack_bytes, 0u) << each.kernel.name << "\n" << each.source.text;
      }
    }
  }
}

}  // namespace
}  // namespace tf::backends
