// The step matrices: what it makes of sums of products, and why it refuses the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {
namespace {

using ::testing::HasSubstr;

tensor::Workload convolution_of(int64_t groups) {
  ops::Builder b;
  const auto input = [&](const char* name, std::initializer_list<int64_t> values) {
    std::vector<tensor::Expr> extents;
    for (const int64_t value : values) extents.push_back(tensor::imm(value));
    return b.input(name, tensor::Element::kFloat32, extents);
  };
  return *b.finish(
      {ops::conv(b, input("x", {2, 4, 9, 8}), input("w", {6, 4 / groups, 3, 3}), {.groups = groups})});
}

std::string why(const char* step, int64_t groups = 1) {
  return std::string(
      schedule::apply(convolution_of(groups), *parse_schedule(std::string("schedule v1\n") + step))
          .status()
          .message());
}

TEST(Matrices, AreGatheredFromTheFactors) {
  State state(convolution_of(1));
  ASSERT_FALSE(state.apply(Matrices{"t0", {"i1"}, {"r0", "r1", "r2"}, true, 10}));
  ASSERT_EQ(state.stages().size(), 4u);
  const auto extents = [&](size_t stage) {
    std::vector<int64_t> all;
    for (const Loop& loop : state.stages()[stage].loops) all.push_back(loop.extent);
    return all;
  };
  EXPECT_EQ(state.stages()[0].name, "t0.a");
  EXPECT_EQ(extents(0), (std::vector<int64_t>{4, 6, 10}));  // 36 terms in parts of 10
  EXPECT_EQ(extents(1), (std::vector<int64_t>{4, 84, 10}));
  EXPECT_EQ(extents(2), (std::vector<int64_t>{4, 6, 84, 10}));
  EXPECT_EQ(extents(3), (std::vector<int64_t>{2, 6, 7, 6, 4}));  // the sum of the parts
}

TEST(Matrices, AreOfSumsWhoseAxesPart) {
  EXPECT_EQ(why("matrices t0 i1 r0,r1,r2 straight 0\n"), "");
  EXPECT_EQ(why("matrices t0 i0,i2,i3 r1,r2,r0 straight 0\n"), "");
  for (const char* step : {"matrices t0 i0 r0,r1 straight 0\n", "matrices t0 i0,i1 r0,r1,r2 straight 0\n",
                           "matrices t0 i1,i1 r0,r1,r2 straight 0\n"})
    EXPECT_THAT(why(step), HasSubstr("t0 is not a sum of products")) << step;
  EXPECT_THAT(why("matrices t0 i1 r0,r1,r2 straight 0\n", 2), HasSubstr("is not a sum of products"));
  EXPECT_THAT(why("matrices t0 i1 r0,r1,r2 straight -1\n"), HasSubstr("part -1 is out of range"));
  EXPECT_THAT(why("matrices t0 i1 r0,r1,r2 straight 1025\n"),
              HasSubstr("part 1025 is out of range; 1 to 1024 is legal"));
}

}  // namespace
}  // namespace tf::schedule
