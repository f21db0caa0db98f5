// How one half of the visits ranks the other.

#include "tests/bench/search/replay/noise.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

// Four visits each, those at even places up to `noise` times as slow.
std::vector<Visits> visited(int count, double noise) {
  std::vector<Visits> candidates;
  for (int i = 0; i < count; ++i) {
    const double seconds = 1 + 0.01 * i, late = seconds * (i % 2 == 0 ? noise : 1);
    candidates.push_back({late, seconds, late, 2 * seconds});
  }
  return candidates;
}

TEST(OtherVisits, RankAllRightWhereVisitsAgree) {
  EXPECT_EQ(pairwise_accuracy(ranked_by_other_visits(visited(80, 1))), 1);
}

TEST(OtherVisits, RankTheWorseTheMoreVisitsDiffer) {
  const double little = *pairwise_accuracy(ranked_by_other_visits(visited(80, 1.02)));
  const double much = *pairwise_accuracy(ranked_by_other_visits(visited(80, 1.2)));
  EXPECT_LT(little, 1);
  EXPECT_LT(much, little);
}

TEST(OtherVisits, SayNothingWithoutSecondVisits) {
  std::vector<Visits> once = visited(80, 1.1);
  for (Visits& each : once) each.resize(1);
  EXPECT_TRUE(ranked_by_other_visits(once).empty());
}

TEST(OtherVisits, AreNotAskedOfHopelessCandidates) {
  std::vector<Visits> candidates = visited(10, 1.1);
  for (int i = 0; i < 40; ++i) candidates.push_back({10.0 + i});
  EXPECT_EQ(ranked_by_other_visits(candidates).size(), 10u);
}

TEST(OtherVisits, PutFailuresLast) {
  std::vector<Visits> candidates = visited(80, 1.1);
  candidates.push_back({});
  const std::vector<Ranked> ranked = ranked_by_other_visits(candidates);
  EXPECT_EQ(ranked.back().seconds, 0);
  for (size_t i = 0; i + 1 < ranked.size(); ++i) EXPECT_GT(ranked[i].score, ranked.back().score);
}

}  // namespace
}  // namespace tf::replay
