// Cache lines of boxes of buffers, and how they crowd.

#include "tuner/model/nests/cache_lines.h"

#include <gtest/gtest.h>

#include "tuner/model/roofline/rates.h"

namespace tf::model {
namespace {

LineCount count(const std::vector<StoredDimension>& dimensions, const std::vector<Value>& box) {
  return lines_of({.dimensions = dimensions, .element_bytes = 4}, box, {});
}

std::vector<StoredDimension> matrix(double rows, double columns) {
  return {{0, rows, 1}, {1, columns, 1}};
}

TEST(LinesOf, CountsALineARowWhereRowsAreFarApart) {
  EXPECT_EQ(count(matrix(512, 512), {7, 1}).lines.constant(), 7);
  EXPECT_EQ(count(matrix(512, 512), {7, 16}).lines.constant(), 7);
  EXPECT_EQ(count(matrix(512, 512), {7, 17}).lines.constant(), 14);
}

TEST(LinesOf, CountsWholeRowsAsOneRun) {
  EXPECT_EQ(count(matrix(100, 8), {10, 8}).lines.constant(), 5);
  EXPECT_EQ(count(matrix(100, 8), {10, 8}).crowded_l1_bytes.constant(), 64.0 * 64);
}

TEST(LinesOf, CountsLinesThatARunTouchesAtBothEndsWhereRowsAreNotAligned) {
  EXPECT_EQ(count(matrix(333, 777), {2, 17}).lines.constant(), 2 * (1 + 64.0 / 64));
}

TEST(LinesOf, SaysThatRowsAPowerOfTwoApartCrowdIntoFewSets) {
  // 512 floats apart: two sets of a way of 4096 bytes, of 64 sets.
  EXPECT_EQ(count(matrix(512, 512), {16, 16}).crowded_l1_bytes.constant(), 16 * 64.0 * 32);
  // An odd number of lines apart: all sets.
  EXPECT_EQ(count(matrix(512, 528), {64, 16}).crowded_l1_bytes.constant(), 64 * 64.0);
}

TEST(LinesOf, SaysThatRowsOfPagesCrowdIntoFewSetsOfAnL2) {
  // 1024 floats apart: 32 places in a way of 128 KB, 4 lines at each.
  EXPECT_EQ(count(matrix(1024, 1024), {1024, 64}).crowded_l2_bytes.constant(), 1024 * 4 * 64.0 * 16);
  EXPECT_EQ(count(matrix(1024, 1040), {1024, 64}).crowded_l2_bytes.constant(), 1024 * 4 * 64.0);
}

TEST(LinesOf, KnowsTheSetsOfTheTargetsCaches) {
  // Twelve rows of four lines, 128 KB apart: four sets of an L2 of 128 KB ways, or of one of 64 KB ways.
  const auto crowded = [](int64_t way_bytes) {
    return lines_of({.dimensions = matrix(64, 32768), .element_bytes = 4}, std::vector<Value>{12, 64},
                    {.l2_bytes = way_bytes})
        .crowded_l2_bytes.constant();
  };
  EXPECT_EQ(crowded(128 << 10), 12 * 128.0 * 1024);
  EXPECT_EQ(crowded(64 << 10), 12 * 64.0 * 1024);
  // 512 floats apart.
  const auto in_l1 = [](int64_t way_bytes) {
    return lines_of({.dimensions = matrix(512, 512), .element_bytes = 4}, std::vector<Value>{16, 16},
                    {.l1_bytes = way_bytes})
        .crowded_l1_bytes.constant();
  };
  EXPECT_EQ(in_l1(4 << 10), 16 * 64.0 * 32) << "two of 64 sets";
  EXPECT_EQ(in_l1(16 << 10), 16 * 64.0 * 32) << "eight of 256 sets";
  EXPECT_EQ(in_l1(64 << 10), 16 * 64.0 * 64) << "16 of 1024 sets";
}

TEST(WaysOf, FollowTheCpu) {
  const auto ways = [](const char* text) { return ways_of(target::parse_target(text).value()); };
  EXPECT_EQ(ways("x86_64:cpu=znver4").l1_bytes, 4 << 10);
  EXPECT_EQ(ways("x86_64:cpu=znver4").l2_bytes, 128 << 10);
  EXPECT_EQ(ways("x86_64:cpu=znver5").l1_bytes, 4 << 10);
  EXPECT_EQ(ways("x86_64:cpu=znver5").l2_bytes, 64 << 10);
  EXPECT_EQ(ways("aarch64:cpu=cortex-a72").l1_bytes, 16 << 10);
  EXPECT_EQ(ways("x86_64:cpu=znver4,l2=1500K").l2_bytes, 128 << 10) << "a power of two";
}

TEST(LinesCrossed, AreWhatAVectorTakesBeyondItsFirst) {
  EXPECT_DOUBLE_EQ(lines_crossed(64, 4), 60.0 / 64);
  EXPECT_DOUBLE_EQ(lines_crossed(64, 32), 0.5);
  EXPECT_DOUBLE_EQ(lines_crossed(64, 64), 0);
  // Seven of sixteen starts of 32 bytes, three of sixteen of 16.
  EXPECT_DOUBLE_EQ(lines_crossed(32, 4), 7.0 / 16);
  EXPECT_DOUBLE_EQ(lines_crossed(32, 32), 0);
  EXPECT_DOUBLE_EQ(lines_crossed(16, 4), 3.0 / 16);
  EXPECT_DOUBLE_EQ(lines_crossed(16, 64), 0);
}

TEST(LinesOf, CountsRunsOfLinesBesideEachOther) {
  EXPECT_EQ(count(matrix(512, 512), {7, 64}).runs.constant(), 7);
  EXPECT_EQ(count(matrix(512, 64), {7, 64}).runs.constant(), 1);
}

TEST(RunAlignment, IsWhatAllRowsStartAtAMultipleOf) {
  EXPECT_EQ(run_alignment({.dimensions = matrix(333, 777)}), 4);
  EXPECT_EQ(run_alignment({.dimensions = matrix(333, 776)}), 32);
  EXPECT_EQ(run_alignment({.dimensions = matrix(333, 512)}), 64);
  EXPECT_EQ(run_alignment({.dimensions = matrix(1, 777)}), 64) << "one row, at the start";
}

TEST(LinesOf, FollowsABlockedLayout) {
  // Channels in vectors of 16, innermost: [c / 16][w][c % 16].
  const std::vector<StoredDimension> blocked = {{0, 4, 16}, {1, 56, 1}, {0, 16, 1}};
  EXPECT_EQ(count(blocked, {16, 8}).lines.constant(), 8);
  EXPECT_EQ(count(blocked, {64, 8}).lines.constant(), 32);
  EXPECT_EQ(count(blocked, {1, 8}).lines.constant(), 8);
}

TEST(LinesOf, IsAFormulaOfTheBox) {
  Formulas formulas;
  const int64_t rows[] = {1, 4, 16};
  const Value part = formulas.part(0, 0, rows);
  const LineCount lines = count(matrix(512, 512), {part, 16});
  EXPECT_FALSE(lines.lines.is_constant());
  EXPECT_EQ(lines.lines.least(), 1);
  EXPECT_EQ(lines.lines.greatest(), 16);
}

}  // namespace
}  // namespace tf::model
