#include "compiler/recipes/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "compiler/schedule/numerics.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::recipes {
namespace {

tensor::KernelSpec kernel_of(const test::SmallWorkload& small, const char* target, int threads = 1) {
  return {.workload = test::build_small(small), .target = *target::parse_target(target), .threads = threads};
}

std::vector<std::string> families(const tensor::KernelSpec& kernel) {
  std::vector<std::string> names;
  for (const Sketch& sketch : sketches_of(kernel)) names.push_back(sketch.family);
  return names;
}

tensor::KernelSpec product(int64_t rows) {
  ops::Builder b;
  return {.workload =
              *b.finish({ops::matmul(b, test::f32_input(b, {rows, 64}), test::f32_constant(b, {64, 32}))}),
          .target = *target::parse_target("x86_64:cpu=haswell")};
}

TEST(Recipes, DefaultsOfAllSketchesAreLegalAndThoseOfTheFirstAreTheDefaultSchedule) {
  for (const char* target : {"x86_64:cpu=haswell", "aarch64:cpu=cortex-a72", "cuda:arch=sm_90"}) {
    for (const test::SmallWorkload& small : test::small_workloads()) {
      for (const int threads : {1, 4}) {
        tensor::KernelSpec kernel = kernel_of(small, target, threads);
        kernel.allowed = schedule::all_numerics();
        const std::vector<Sketch> sketches = sketches_of(kernel);
        ASSERT_FALSE(sketches.empty()) << small.name;
        for (const Sketch& sketch : sketches)
          EXPECT_TRUE(schedule::apply(kernel.workload, instantiate(sketch, sketch.default_point())).ok())
              << small.name << ", " << sketch.family;
        EXPECT_EQ(default_schedule(kernel), instantiate(sketches[0], sketches[0].default_point()))
            << small.name;
      }
    }
  }
}

TEST(Recipes, UseNoNumericsThatAreNotAllowed) {
  for (const test::SmallWorkload& small : test::small_workloads())
    for (const Sketch& sketch : sketches_of(kernel_of(small, "x86_64:cpu=znver4")))
      EXPECT_TRUE(schedule::numerics_of(sketch.steps).empty()) << small.name << ", " << sketch.family;
}

TEST(Recipes, OfLastResortServeOnlyKernelsThatNoOtherServes) {
  EXPECT_THAT(families(product(8)), ::testing::Not(::testing::Contains("generated flat")));
  const test::SmallWorkload& add_relu = test::small_workloads().front();
  EXPECT_THAT(families(kernel_of(add_relu, "x86_64:cpu=haswell")), ::testing::ElementsAre("generated flat"));
}

TEST(Recipes, GiveOneScheduleToAKernelThatComputesNothing) {
  EXPECT_THAT(families(product(0)), ::testing::ElementsAre("plain loops"));
  EXPECT_TRUE(default_schedule(product(0)).steps.empty());
}

// Blocks along x, y and z of the launch of the default schedule's last stage.
std::array<int64_t, 3> default_grid(const tensor::KernelSpec& kernel) {
  const auto state = schedule::apply(kernel.workload, default_schedule(kernel));
  EXPECT_TRUE(state.ok()) << state.status();
  std::array<int64_t, 3> grid = {1, 1, 1};
  for (const schedule::Loop& loop : state->stages().back().loops)
    if (schedule::is_grid(loop.annotation))
      grid[static_cast<size_t>(loop.annotation) - static_cast<size_t>(schedule::Annotation::kGridX)] =
          loop.extent;
  return grid;
}

TEST(Recipes, GiveTheAxisXOfTheGridToTheLoopThatOthersHaveNoRoomFor) {
  struct Case {
    const char *workload, *family;
    std::array<int64_t, 3> cuda, opencl;
  };
  for (const Case& each : {
           Case{"workload v1\n"
                "input p0: f16[67200, 49, 32]\n"
                "input p1: f16[67200, 32, 49]\n"
                "stage t0: f32[i0 < 67200, i1 < 49, i2 < 49] = reduce sum[r0 < 32] cast<f32>(p0[i0, i1, r0]) "
                "* "
                "cast<f32>(p1[i0, r0, i2])\n"
                "output t0",
                "tensor product",
                {67200, 1, 1},
                {1, 1, 67200}},
           Case{"workload v1\n"
                "input p0: f32[70000, 8, 64]\n"
                "input p1: f32[70000, 64, 8]\n"
                "stage t0: f32[i0 < 70000, i1 < 8, i2 < 8] = reduce sum[r0 < 64] p0[i0, i1, r0] * p1[i0, r0, "
                "i2]\n"
                "output t0",
                "product",
                {70000, 1, 1},
                {1, 1, 70000}},
           Case{"workload v1\n"
                "input p0: f32[2048, 32, 36, 18, 18]\n"
                "stage t0: f32[i0 < 2048, i1 < 32, i2 < 34, i3 < 16, i4 < 16] = "
                "reduce max[r0 < 3, r1 < 3, r2 < 3] p0[i0, i1, i2 + r0, i3 + r1, i4 + r2]\n"
                "output t0",
                "windows",
                {69632, 4, 2},
                {2, 4, 69632}},
           Case{"workload v1\n"
                "input p0: f32[1, 70000, 66000]\n"
                "stage t0: f32[i0 < 1, i1 < 70000, i2 < 66000] = p0[i0, i1, i2] * p0[i0, i1, i2]\n"
                "stage t1: f32[i0 < 1, i1 < 70000] = reduce sum[r0 < 66000] t0[i0, i1, r0]\n"
                "stage t2: f32[i0 < 1, i1 < 70000, i2 < 66000] = p0[i0, i1, i2] * t1[i0, i1]\n"
                "output t2",
                "rows",
                {70000, 1, 1},
                {70000, 1, 1}},
           Case{"workload v1\n"
                "input p0: f32[90000, 4, 100]\n"
                "stage t0: f32[i0 < 90000, i1 < 4] = reduce max[r0 < 100] p0[i0, i1, r0]\n"
                "stage t1: f32[i0 < 90000, i1 < 4, i2 < 100] = p0[i0, i1, i2] - t0[i0, i1]\n"
                "output t1",
                "rows",
                {90000, 1, 1},
                {1, 90000, 1}},
       }) {
    const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(each.workload);
    ASSERT_TRUE(workload.ok()) << workload.status();
    tensor::KernelSpec kernel{.workload = *workload, .target = *target::parse_target("cuda:arch=sm_80")};
    EXPECT_THAT(sketches_of(kernel).at(0).family, ::testing::StartsWith(each.family));
    EXPECT_EQ(default_grid(kernel), each.cuda) << each.family;
    kernel.target = *target::parse_target("opencl");
    EXPECT_EQ(default_grid(kernel), each.opencl) << each.family << ": OpenCL has no such limit";
  }
}

TEST(Recipes, GiveThreadsToWhatSumsNothingOnGpus) {
  tensor::KernelSpec kernel = product(8);
  kernel.target = *target::parse_target("cuda:arch=sm_80");
  kernel.workload = *tensor::parse_workload(
      "workload v1\ninput p0: f32[1000, 0]\nstage t0: f32[i0 < 1000] = reduce sum[r0 < 0] p0[i0, r0]\noutput "
      "t0");
  EXPECT_THAT(families(kernel), ::testing::ElementsAre("stages"));
  EXPECT_EQ(default_grid(kernel)[0], 4);
}

TEST(Recipes, LeaveFewPartsOfALongSumToOneThread) {
  const tensor::KernelSpec kernel{
      .workload = *tensor::parse_workload("workload v1\ninput p0: f32[3000000000]\n"
                                          "stage t0: f32[] = reduce sum[r0 < 3000000000] p0[r0]\noutput t0"),
      .target = *target::parse_target("cuda:arch=sm_80")};
  const auto state = schedule::apply(kernel.workload, default_schedule(kernel));
  ASSERT_TRUE(state.ok()) << state.status();
  const schedule::StageState* parts = state->data().find_stage("t0.rf");
  ASSERT_NE(parts, nullptr);
  EXPECT_LE(static_cast<int64_t>(parts->loops[0].extent), 1024);
}

TEST(Sketch, OpensASizeWithItsDefaultAmongTheChoices) {
  Sketch sketch("test", product(8));
  sketch.open("a", {1, 2, 4}, 2);
  sketch.open("b", {1, 2, 4}, 3);
  EXPECT_EQ(sketch.default_point(), (Point{1, 3}));
  EXPECT_EQ(sketch.parameters[1].choices.back(), Choice{3});
  EXPECT_EQ(sketch.size(), 12);
}

}  // namespace
}  // namespace tf::recipes
