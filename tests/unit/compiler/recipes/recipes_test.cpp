#include "compiler/recipes/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
