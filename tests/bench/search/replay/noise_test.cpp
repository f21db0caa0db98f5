// What no model can do better than, on recordings that are noisy.

#include "tests/bench/search/replay/noise.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

// Pairs of equal programs, the second of each `noise` times as slow as the first.
std::vector<Timed> pairs(int count, double noise) {
  std::vector<Timed> candidates;
  for (int i = 0; i < count; ++i) {
    const double seconds = 1 + 0.01 * i;
    candidates.push_back({seconds, "code " + std::to_string(i)});
    candidates.push_back({seconds * noise, "code " + std::to_string(i)});
  }
  return candidates;
}

TEST(RankedByTruth, RanksAllRightWhereEqualProgramsTakeEqualTimes) {
  EXPECT_EQ(pairwise_accuracy(ranked_by_truth(pairs(40, 1))), 1);
}

TEST(RankedByTruth, RanksTheWorseTheMoreEqualProgramsDiffer) {
  const double little = *pairwise_accuracy(ranked_by_truth(pairs(40, 1.02)));
  const double much = *pairwise_accuracy(ranked_by_truth(pairs(40, 1.2)));
  EXPECT_LT(little, 1);
  EXPECT_LT(much, little);
}

TEST(RankedByTruth, SaysNothingWithoutEnoughEqualPrograms) {
  EXPECT_TRUE(ranked_by_truth(pairs(19, 1.1)).empty());
  std::vector<Timed> different = pairs(40, 1.1);
  for (size_t i = 0; i < different.size(); ++i) different[i].code = std::to_string(i);
  EXPECT_TRUE(ranked_by_truth(different).empty());
}

TEST(RankedByTruth, PutsFailuresLast) {
  std::vector<Timed> candidates = pairs(40, 1.1);
  candidates.push_back({0, ""});
  const std::vector<Ranked> ranked = ranked_by_truth(candidates);
  for (size_t i = 0; i + 1 < ranked.size(); ++i) EXPECT_GT(ranked[i].score, ranked.back().score);
}

}  // namespace
}  // namespace tf::replay
