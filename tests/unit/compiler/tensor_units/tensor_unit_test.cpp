#include "compiler/tensor_units/tensor_unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace tf::tensor_units {
namespace {

TEST(TensorUnit, HasDistinctNamesThatAreFound) {
  std::set<std::string_view> names, instructions;
  for (const TensorUnit& unit : tensor_units()) {
    EXPECT_TRUE(names.insert(unit.name).second) << unit.name;
    EXPECT_TRUE(instructions.insert(unit.ptx).second) << unit.ptx;
    EXPECT_EQ(find_tensor_unit(unit.name), &unit);
  }
  EXPECT_EQ(find_tensor_unit("mma_m1n1k1"), nullptr);
}

TEST(TensorUnit, NamesItsShapeInItsInstruction) {
  for (const TensorUnit& unit : tensor_units()) {
    const std::string shape =
        "m" + std::to_string(unit.m) + "n" + std::to_string(unit.n) + "k" + std::to_string(unit.k);
    EXPECT_NE(unit.ptx.find("." + shape + "."), std::string_view::npos) << unit.ptx;
    EXPECT_NE(unit.name.find("_" + shape + "_"), std::string_view::npos) << unit.name;
  }
}

void expect_bijection(const LaneMap& map, int rows, int columns, std::string_view what) {
  SCOPED_TRACE(what);
  EXPECT_EQ(std::pair(map.rows, map.columns), std::pair(rows, columns));
  ASSERT_EQ(map.elements() * map.lanes, rows * columns);
  std::set<std::pair<int, int>> seen;
  for (int lane = 0; lane < map.lanes; ++lane) {
    for (int e = 0; e < map.elements(); ++e) {
      const int row = map.row_of(lane, e), column = map.column_of(lane, e);
      EXPECT_TRUE(row >= 0 && row < rows && column >= 0 && column < columns) << row << ", " << column;
      EXPECT_TRUE(seen.insert({row, column}).second) << "lane " << lane << " element " << e;
      EXPECT_EQ(map.lane_of(row, column), lane);
      EXPECT_EQ(map.element_of(row, column), e);
    }
  }
}

TEST(TensorUnit, HoldsEveryElementOnce) {
  for (const TensorUnit& unit : tensor_units()) {
    expect_bijection(unit.c, unit.m, unit.n, unit.name);
    if (unit.reads_shared) continue;
    expect_bijection(unit.a, unit.m, unit.k, unit.name);
    expect_bijection(unit.b, unit.k, unit.n, unit.name);
  }
}

// The formulas of the PTX ISA, by its own words: groupID = lane / 4, threadID_in_group = lane % 4.
TEST(TensorUnit, HasThePublishedMaps) {
  const auto at = [](const LaneMap& map, int lane, int e) {
    return std::pair(map.row_of(lane, e), map.column_of(lane, e));
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / 4, in_group = lane % 4;
    const TensorUnit& half = *find_tensor_unit("mma_m16n8k16_f16");
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(at(half.a, lane, i), std::pair(i < 2 || (i >= 4 && i < 6) ? group : group + 8,
                                               in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)));
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(at(half.b, lane, i), std::pair(in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group));
      EXPECT_EQ(at(half.c, lane, i), std::pair(i < 2 ? group : group + 8, in_group * 2 + (i & 1)));
    }
    const TensorUnit& bytes = *find_tensor_unit("mma_m16n8k32_i8");
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(at(bytes.a, lane, i), std::pair(i < 4 || (i >= 8 && i < 12) ? group : group + 8,
                                                in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)));
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(at(bytes.b, lane, i), std::pair(in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group));
    const TensorUnit& tf32 = *find_tensor_unit("mma_m16n8k8_tf32");
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(at(tf32.a, lane, i),
                std::pair(i == 0 || i == 2 ? group : group + 8, i < 2 ? in_group : in_group + 4));
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(at(tf32.b, lane, i), std::pair(i == 0 ? in_group : in_group + 4, group));
    const TensorUnit& small = *find_tensor_unit("mma_m8n8k16_i8");
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(at(small.a, lane, i), std::pair(group, in_group * 4 + i));
      EXPECT_EQ(at(small.b, lane, i), std::pair(in_group * 4 + i, group));
    }
  }
}

// PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma: the warps' rows, then as above, eight columns
// after the other.
TEST(TensorUnit, HasThePublishedMapOfFourWarps) {
  int units = 0;
  for (const TensorUnit& unit : tensor_units()) {
    if (!unit.reads_shared) continue;
    ++units;
    ASSERT_EQ(unit.c.lanes, 128);
    ASSERT_EQ(unit.c.elements(), unit.n / 2);
    for (int lane = 0; lane < unit.c.lanes; ++lane)
      for (int i = 0; i < unit.c.elements(); ++i) {
        EXPECT_EQ(unit.c.row_of(lane, i), lane / 32 * 16 + lane % 32 / 4 + (i % 4 < 2 ? 0 : 8));
        EXPECT_EQ(unit.c.column_of(lane, i), i / 4 * 8 + lane % 4 * 2 + (i & 1));
      }
  }
  EXPECT_EQ(units, 12);
}

// PTX ISA, "Matrix Descriptor Format": 128-byte lines, eight of them every 1024 bytes.
TEST(TensorUnit, DescribesWhatItReads) {
  const TensorUnit& half = *find_tensor_unit("wgmma_m64n128k16_f16");
  const tensor::Swizzle lines = line_swizzle(half.a_element);
  EXPECT_EQ(lines, (tensor::Swizzle{3, 3, 3}));
  const auto terms = describe(half, true, {.row_step = 64, .column_step = 1, .swizzle = lines});
  ASSERT_TRUE(terms);
  EXPECT_TRUE(terms->has_lines_of_terms);
  EXPECT_EQ(terms->stride_bytes, 1024);
  EXPECT_EQ(terms->swizzle_code, 1);
  // Columns in two blocks of 64, each of 32 terms.
  const auto columns =
      describe(half, false,
               {.row_step = 64, .column_step = 1, .block_columns = 64, .next_block = 2048, .swizzle = lines});
  ASSERT_TRUE(columns);
  EXPECT_FALSE(columns->has_lines_of_terms);
  EXPECT_EQ(columns->leading_bytes, 4096);
  EXPECT_EQ(columns->stride_bytes, 1024);
  // In shorter lines, without the swizzle, with gaps between lines, in one block beyond the line.
  EXPECT_FALSE(
      describe(half, true, {.row_step = 32, .column_step = 1, .swizzle = line_swizzle(half.a_element, 64)}));
  EXPECT_FALSE(describe(half, true, {.row_step = 64, .column_step = 1}));
  EXPECT_FALSE(describe(half, true, {.row_step = 72, .column_step = 1, .swizzle = lines}));
  EXPECT_FALSE(describe(half, false, {.row_step = 64, .column_step = 1, .swizzle = lines}));
  // Bytes have lines of terms only.
  const TensorUnit& bytes = *find_tensor_unit("wgmma_m64n64k32_i8");
  const tensor::Swizzle of_bytes = line_swizzle(bytes.a_element);
  EXPECT_TRUE(describe(bytes, true, {.row_step = 128, .column_step = 1, .swizzle = of_bytes}));
  EXPECT_FALSE(describe(bytes, true, {.row_step = 1, .column_step = 128, .swizzle = of_bytes}));
}

// a = one hot, b = the identity's rows and so on: what the maps gather is what they scatter.
TEST(TensorUnit, MultipliesOneHotTiles) {
  for (const TensorUnit& unit : tensor_units()) {
    if (unit.reads_shared) continue;
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int e = 0; e < unit.a.elements(); ++e) {
        const int i = unit.a.row_of(lane, e), k = unit.a.column_of(lane, e);
        for (int j = 0; j < unit.n; ++j) {
          const int b_lane = unit.b.lane_of(k, j), b_element = unit.b.element_of(k, j);
          EXPECT_EQ(unit.b.row_of(b_lane, b_element), k);
          EXPECT_EQ(unit.c.row_of(unit.c.lane_of(i, j), unit.c.element_of(i, j)), i);
        }
      }
    }
  }
}

TEST(TensorUnit, FillsRegistersFromLinesOf16Bytes) {
  for (const TensorUnit& unit : tensor_units()) {
    if (tensor::element_bytes(unit.a_element) > 4 || unit.reads_shared) continue;
    for (const auto& [map, element] :
         {std::pair(&unit.a, unit.a_element), std::pair(&unit.b, unit.b_element)}) {
      const int packed = elements_in_register(element);
      const bool columns = lines_are_columns(*map);
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int e = 0; e < map->elements(); ++e) {
          const Piece piece = piece_of(*map, element, e / packed);
          const int line = lane / 4, place = lane % 4 * packed + e % packed;
          EXPECT_EQ(map->row_of(lane, e), piece.row + (columns ? place : line)) << unit.name;
          EXPECT_EQ(map->column_of(lane, e), piece.column + (columns ? line : place)) << unit.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tf::tensor_units
