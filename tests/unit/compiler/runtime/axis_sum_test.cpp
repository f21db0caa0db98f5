#include "compiler/runtime/axis_sum.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(AxisSum, GoesAlongTheChosenAxes) {
  const std::vector<int8_t> source = {1, 2, 3, 4, 5, 6, -7, 8, 9, 10, 11, -12};  // [2, 3, 2]
  const int64_t extents[] = {2, 3, 2};
  const auto sums = [&](uint32_t axes, size_t count) {
    std::vector<int32_t> out(count, 99);
    tf_sum_axes(1, axes, extents, 3, source.data(), out.data());
    return out;
  };
  EXPECT_EQ(sums(0b010, 4), (std::vector<int32_t>{9, 12, 13, 6}));
  EXPECT_EQ(sums(0b110, 2), (std::vector<int32_t>{21, 19}));
  EXPECT_EQ(sums(0b001, 6), (std::vector<int32_t>{-6, 10, 12, 14, 16, -6}));
  EXPECT_EQ(sums(0b111, 1), (std::vector<int32_t>{40}));
}

TEST(AxisSum, TakesBytesWithAndWithoutASign) {
  const uint8_t source[] = {255, 128};
  const int64_t extents[] = {2};
  int32_t sum = 0;
  tf_sum_axes(0, 1, extents, 1, source, &sum);
  EXPECT_EQ(sum, 383);
  tf_sum_axes(1, 1, extents, 1, source, &sum);
  EXPECT_EQ(sum, -129);
}

}  // namespace
