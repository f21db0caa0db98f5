#include "tuner/space/carry_over.h"

#include <gtest/gtest.h>

#include "compiler/target/target.h"
#include "tests/support/tuner/test_problems.h"

namespace tf::space {
namespace {

DesignSpace space_of(int64_t m, int64_t n, int64_t k) {
  return generate_space(tensor::for_target(test::matmul_problem(m, n, k),
                                           target::parse_target("x86_64:cpu=znver4").value(), 1));
}

Sketch with_parameters(std::vector<Parameter> parameters) {
  Sketch sketch = space_of(64, 64, 64).sketches.front();
  sketch.parameters = std::move(parameters);
  return sketch;
}

TEST(CarryOver, KeepsThePointWhereTheProblemIsTheSame) {
  const DesignSpace space = space_of(64, 96, 128);
  for (const Sketch& sketch : space.sketches)
    EXPECT_EQ(carry_over(sketch, sketch.default_point(), sketch), sketch.default_point());
}

TEST(CarryOver, KeepsSizesAndTakesTheNearestOnesThereAre) {
  const Sketch from = with_parameters({{"tile", {{1, 1}, {4, 6}, {2, 14}}}, {"unroll", {{0}, {64}, {256}}}});
  const Sketch to =
      with_parameters({{"tile", {{1, 1}, {4, 7}, {8, 3}, {16, 16}}}, {"unroll", {{256}, {64}, {0}}}});
  EXPECT_EQ(carry_over(from, {1, 1}, to), (Point{1, 1})) << "6 rows are nearly 7";
  EXPECT_EQ(carry_over(from, {1, 0}, to), (Point{1, 2}));
}

TEST(CarryOver, LetsATileOfTheWholeAxisCoverTheNewAxisToo) {
  const Sketch from = with_parameters({{"inner_kh", {{1}, {3}}}}),
               to = with_parameters({{"inner_kh", {{1}, {7}}}});
  EXPECT_EQ(carry_over(from, {1}, to), (Point{1}));
  EXPECT_EQ(carry_over(from, {0}, to), (Point{0}));
}

TEST(CarryOver, IsForSketchesThatMakeTheSameDecisions) {
  const DesignSpace small = space_of(64, 64, 64), large = space_of(1024, 512, 256);
  EXPECT_TRUE(are_alike(small.sketches.front(), large.sketches.front()));
  Sketch other = small.sketches.front();
  other.family += ", otherwise";
  EXPECT_FALSE(are_alike(small.sketches.front(), other));
  other = small.sketches.front();
  other.parameters.pop_back();
  EXPECT_FALSE(are_alike(small.sketches.front(), other));
}

TEST(Distance, AddsUpTheRatiosOfExtents) {
  const Sketch a = space_of(64, 64, 64).sketches.front(), b = space_of(128, 64, 64).sketches.front(),
               c = space_of(128, 64, 512).sketches.front();
  EXPECT_EQ(distance(a, a), 0);
  EXPECT_NEAR(distance(a, b), 1, 0.05);
  EXPECT_NEAR(distance(a, c), 4, 0.1);
  EXPECT_EQ(distance(c, a), distance(a, c));
}

}  // namespace
}  // namespace tf::space
