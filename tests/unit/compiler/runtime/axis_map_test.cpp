#include "compiler/runtime/axis_map.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(AxisMap, NoMapsGiveTheSourceItself) {
  int64_t extents[] = {2, 3};
  const std::vector<float> source(6, 1.0f);
  EXPECT_EQ(tf_map_axes_elements(nullptr, 0, extents, 2), 0);
  EXPECT_EQ(tf_map_axes(nullptr, 0, extents, 2, source.data(), nullptr, nullptr), source.data());
}

TEST(AxisMap, OneMapNeedsOneBuffer) {
  const double sum_and_difference[] = {1, 1, 1, -1};
  const tf_axis_map map = {0, 2, sum_and_difference};
  int64_t extents[] = {2, 3};
  const std::vector<float> source = {1, 2, 3, 10, 20, 30};
  std::vector<float> first(6);
  ASSERT_EQ(tf_map_axes_elements(&map, 1, extents, 2), 6);
  EXPECT_EQ(tf_map_axes(&map, 1, extents, 2, source.data(), first.data(), nullptr), first.data());
  EXPECT_EQ(first, (std::vector<float>{11, 22, 33, -9, -18, -27}));
}

TEST(AxisMap, MapsApplyInOrderAndTheBuffersHoldTheLargestTensorOnTheWay) {
  // [2, 2] to [3, 2] along the first axis, to [3, 1] along the second, to [1, 1] along the first again.
  const double widen[] = {1, 0, 0, 1, 1, 1}, pick[] = {0, 2}, sum[] = {1, 1, 1};
  const tf_axis_map maps[] = {{0, 3, widen}, {1, 1, pick}, {0, 1, sum}};
  int64_t extents[] = {2, 2};
  const std::vector<float> source = {1, 2, 3, 4};
  ASSERT_EQ(tf_map_axes_elements(maps, 3, extents, 2), 6);
  std::vector<float> first(6), second(6);
  const float* result = tf_map_axes(maps, 3, extents, 2, source.data(), first.data(), second.data());
  EXPECT_EQ(extents[0], 1);
  EXPECT_EQ(extents[1], 1);
  EXPECT_EQ(result[0], 2 * (2 + 4 + (2 + 4)));
}

TEST(AxisMap, FitsTheAxisThatItsMatrixIsFor) {
  constexpr int64_t kMost = 100;
  const double matrix[6] = {};
  const auto fits = [&](tf_axis_map map, int64_t matrix_elements, std::vector<int64_t> extents) {
    const std::vector<int64_t> before = extents;
    const bool fit = tf_fit_axis_map(&map, matrix_elements, extents.data(),
                                     static_cast<int32_t>(extents.size()), kMost) == 1;
    std::vector<int64_t> after = before;
    if (fit) after[static_cast<size_t>(map.axis)] = map.rows;
    EXPECT_EQ(extents, after);
    return fit;
  };
  EXPECT_TRUE(fits({1, 2, matrix}, 6, {5, 3}));
  EXPECT_FALSE(fits({0, 2, matrix}, 6, {5, 3})) << "the matrix is for an extent of 3";
  EXPECT_FALSE(fits({2, 2, matrix}, 6, {5, 3}));
  EXPECT_FALSE(fits({-1, 2, matrix}, 6, {5, 3}));
  EXPECT_FALSE(fits({1, 0, matrix}, 0, {5, 3}));
  EXPECT_FALSE(fits({1, -2, matrix}, -6, {5, 3}));
  EXPECT_FALSE(fits({0, 2, matrix}, 6, {}));
  EXPECT_TRUE(fits({1, 2, matrix}, 6, {33, 3})) << "99 elements, then 66";
  EXPECT_FALSE(fits({1, 2, matrix}, 6, {34, 3})) << "102 elements";
  EXPECT_FALSE(fits({1, 4, matrix}, 4, {26, 1})) << "26 elements, then 104";
  EXPECT_TRUE(fits({1, 2, matrix}, 6, {0, 3}));
  // Products beyond 2^63.
  EXPECT_FALSE(fits({1, 64, matrix}, 0, {1, int64_t{1} << 58}));
  EXPECT_FALSE(fits({0, 2, matrix}, 6, {3, int64_t{1} << 62, 4}));
  EXPECT_FALSE(fits({0, int64_t{1} << 62, matrix}, 0, {4}));
}

TEST(AxisMap, EachSumIsRoundedOnce) {
  const double ones[] = {1, 1, 1};
  const tf_axis_map map = {0, 1, ones};
  int64_t extents[] = {3};
  const std::vector<float> source = {0x1p24f, 1, 1};  // in f32 each 1 alone would be lost
  float first = 0;
  EXPECT_EQ(*tf_map_axes(&map, 1, extents, 1, source.data(), &first, nullptr), 0x1p24f + 2);
}

}  // namespace
