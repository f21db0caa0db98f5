#include "base/statistics/paired.h"

#include <random>

namespace tf {
namespace {

// The machine slows down half-way: medians of all rounds would compare rounds with each other that have
// nothing in common.
TEST(Paired, ComparesRoundByRound) {
  const std::vector<double> first = {10, 10, 10, 10, 20, 20, 20}, other = {9, 9, 9, 9, 18, 18, 18};
  const Paired paired = compare_paired(first, other);
  EXPECT_DOUBLE_EQ(paired.first, 10);
  EXPECT_DOUBLE_EQ(paired.ratio.median_ns, 0.9);
  EXPECT_DOUBLE_EQ(paired.other, 9);
  EXPECT_EQ(verdict_of(paired.ratio), Verdict::kFaster);
  EXPECT_EQ(verdict_of(compare_paired(other, first).ratio), Verdict::kSlower);
}

TEST(Paired, TimesNeverContradictTheRatio) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> noise(1, 3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<double> first, other;
    for (int i = 0; i < 7; ++i) {
      first.push_back(noise(random));
      other.push_back(noise(random));
    }
    const Paired paired = compare_paired(first, other);
    EXPECT_EQ(paired.other < paired.first, paired.ratio.median_ns < 1);
  }
}

TEST(Paired, IsNotMeasurableWithinTheBounds) {
  EXPECT_EQ(verdict_of({.median_ns = 0.9, .low_ns = 0.8, .high_ns = 1.01}), Verdict::kNotMeasurable);
  EXPECT_EQ(verdict_of({.median_ns = 1, .low_ns = 1, .high_ns = 1}), Verdict::kNotMeasurable);
}

}  // namespace
}  // namespace tf
