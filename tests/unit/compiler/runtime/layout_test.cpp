#include "compiler/runtime/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace {

tf_layout parse(const std::string& text, int32_t rank) {
  tf_layout layout;
  EXPECT_EQ(tf_layout_parse(text.c_str(), rank, &layout), 0) << text;
  return layout;
}

// The definition, element by element: where in physical storage does a logical coordinate go?
int64_t physical_index(const tf_layout& layout, const std::vector<int64_t>& extents,
                       const std::vector<int64_t>& at) {
  int64_t index = 0;
  for (int32_t i = 0; i < layout.axis_count; ++i) {
    const tf_layout_axis& axis = layout.axes[i];
    int64_t inner = 1;  // product of the blocks nested inside this physical axis
    for (int32_t j = axis.block ? i + 1 : 0; j < layout.axis_count; ++j) {
      if (layout.axes[j].axis == axis.axis && layout.axes[j].block) inner *= layout.axes[j].block;
    }
    const int64_t count = axis.block ? axis.block : (extents[axis.axis] + inner - 1) / inner;
    const int64_t position = axis.block ? at[axis.axis] / inner % axis.block : at[axis.axis] / inner;
    index = index * count + position;
  }
  return index;
}

template <typename T>
void expect_pack_follows_definition(const std::string& text, const std::vector<int64_t>& extents) {
  const auto rank = static_cast<int32_t>(extents.size());
  const tf_layout layout = parse(text, rank);
  const int64_t logical = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  const int64_t physical = tf_layout_elements(&layout, extents.data(), rank);
  ASSERT_GE(physical, logical) << text;
  std::vector<T> source(logical), packed(physical, T{99}), expected(physical, T{0}), back(logical, T{77});
  for (int64_t i = 0; i < logical; ++i) source[i] = static_cast<T>(i % 250 + 1);
  for (int64_t i = 0; i < logical; ++i) {
    std::vector<int64_t> at(extents.size());
    for (int64_t d = rank, rest = i; d-- > 0; rest /= extents[d]) at[d] = rest % extents[d];
    expected[physical_index(layout, extents, at)] = source[i];
  }
  tf_layout_pack(&layout, extents.data(), rank, sizeof(T), source.data(), packed.data());
  EXPECT_EQ(packed, expected) << text;
  tf_layout_unpack(&layout, extents.data(), rank, sizeof(T), packed.data(), back.data());
  EXPECT_EQ(back, source) << text;
}

TEST(Layout, PackFollowsTheDefinitionAndUnpackUndoesIt) {
  const std::vector<int64_t> extents = {2, 35, 5, 3};
  for (const char* text : {"", "0,1,2,3", "0,2,3,1", "3,2,1,0", "0,1,2,3,1:16", "0,1,2,3,1:16,0:32",
                           "0,1:4,1,2,3,1:8", "1:2,0:3,2:2,0,1,2,3", "0,1,2,3,1:4,1:4", "0,3,2,3:2,1,2:4"}) {
    expect_pack_follows_definition<float>(text, extents);
    expect_pack_follows_definition<uint8_t>(text, extents);
    expect_pack_follows_definition<uint16_t>(text, extents);
    expect_pack_follows_definition<double>(text, extents);
  }
}

TEST(Layout, ScalarsAndVectorsAreTensorsToo) {
  expect_pack_follows_definition<float>("", {});
  expect_pack_follows_definition<float>("", {7});
  expect_pack_follows_definition<float>("0,0:4", {7});
}

TEST(Layout, RejectsTextsThatAreNotALayoutOfThatRank) {
  tf_layout layout;
  for (const char* text : {"0", "0,1,2", "0,0,1", "0,1,2:4", "0,1:0,1,", "0,1,", ",0,1", "0;1", "0,1:-4", "a",
                           "0,1,1:", "0,1:4", "99999999999999999999,1", "0,1 ",
                           "0,1,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4,0:4"}) {
    EXPECT_EQ(tf_layout_parse(text, 2, &layout), 1) << text;
  }
  EXPECT_EQ(tf_layout_parse("", TF_LAYOUT_MAX_RANK + 1, &layout), 1);
  EXPECT_EQ(tf_layout_parse("", -1, &layout), 1);
}

TEST(Layout, CountsPaddingAndReportsOverflow) {
  const int64_t extents[] = {1, 35};
  const tf_layout layout = parse("0,1,1:16", 2);
  EXPECT_EQ(tf_layout_elements(&layout, extents, 2), 48);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(tf_layout_elements(&layout, huge, 2), -1);
}

}  // namespace
