#include "tests/bench/search/replay/quality.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

TEST(PairwiseAccuracy, CountsPairsInTheRightOrder) {
  // Three pairs; the scores have only (2, 3) wrong.
  const std::vector<Ranked> candidates = {{1, 9}, {2, 4}, {3, 5}};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(candidates).value(), 2.0 / 3);
}

TEST(PairwiseAccuracy, LooksOnlyAtPairsWithinThreeTimesTheBest) {
  const std::vector<Ranked> candidates = {{1, 9}, {3, 4}, {3.01, 100}, {0, 50}};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(candidates).value(), 1);
}

TEST(PairwiseAccuracy, GivesHalfForEqualScoresAndSkipsEqualTimes) {
  EXPECT_DOUBLE_EQ(pairwise_accuracy(std::vector<Ranked>{{1, 5}, {2, 5}}).value(), 0.5);
  EXPECT_FALSE(pairwise_accuracy(std::vector<Ranked>{{1, 5}, {1, 6}}).has_value());
  EXPECT_FALSE(pairwise_accuracy(std::vector<Ranked>{{0, 5}, {0, 6}}).has_value());
}

TEST(PairwiseAccuracy, LeavesOutNearTies) {
  const std::vector<Ranked> candidates = {{1, 9}, {1.02, 10}, {1.5, 5}};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(candidates).value(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(pairwise_accuracy(candidates, {.apart = 1.03}).value(), 1);
  EXPECT_FALSE(pairwise_accuracy(candidates, {.apart = 2}).has_value());
}

TEST(PairwiseAccuracy, LooksAtPairsOfLateCandidatesAlone) {
  // The best is not late, and decides all the same what is within three times of it.
  const std::vector<Ranked> candidates = {{1, 9}, {1.1, 5, true}, {1.2, 6, true}, {3.1, 10, true}};
  EXPECT_DOUBLE_EQ(pairwise_accuracy(candidates, {.both_late = true}).value(), 0);
}

TEST(Recall, IsTheShareOfTheFastestAmongTheChosen) {
  // Fastest two: 1 and 2. Highest scores: 1 and 4.
  const std::vector<Ranked> candidates = {{4, 8}, {3, 1}, {2, 2}, {1, 9}};
  EXPECT_DOUBLE_EQ(recall_at(candidates, 2).value(), 0.5);
  EXPECT_DOUBLE_EQ(recall_at(candidates, 1).value(), 1);
  EXPECT_DOUBLE_EQ(recall_at(candidates, 4).value(), 1);
}

TEST(Recall, IsHurtByAFailureThatIsRankedHigh) {
  const std::vector<Ranked> candidates = {{0, 9}, {1, 5}, {2, 1}};
  EXPECT_DOUBLE_EQ(recall_at(candidates, 1).value(), 0);
  EXPECT_DOUBLE_EQ(recall_at(candidates, 30).value(), 1) << "of the two that ran";
  EXPECT_FALSE(recall_at(std::vector<Ranked>{{0, 1}}, 1).has_value());
}

TEST(BestOfTop, IsARatioToTheBestOfAll) {
  const std::vector<Ranked> candidates = {{2, 9}, {3, 8}, {1, 7}};
  EXPECT_DOUBLE_EQ(best_of_top(candidates, 1).value(), 2);
  EXPECT_DOUBLE_EQ(best_of_top(candidates, 2).value(), 2);
  EXPECT_DOUBLE_EQ(best_of_top(candidates, 128).value(), 1);
  EXPECT_FALSE(best_of_top(std::vector<Ranked>{{0, 9}, {1, 1}}, 1).has_value());
}

TEST(ShareWithin, CountsThoseNearTheBestAmongThoseThatRan) {
  const std::vector<Ranked> candidates = {{2, 0}, {1, 0}, {0, 0}, {1.02, 0}, {1.5, 0}};
  EXPECT_DOUBLE_EQ(share_within(candidates, 1.03).value(), 0.5);
  EXPECT_DOUBLE_EQ(share_within(candidates, 2).value(), 1) << "the bound belongs to it";
  EXPECT_FALSE(share_within(std::vector<Ranked>{{0, 1}}, 2).has_value());
}

TEST(KthOverBest, IsTheRatioOfTheirTimes) {
  const std::vector<Ranked> candidates = {{4, 0}, {2, 0}, {0, 0}, {3, 0}};
  EXPECT_DOUBLE_EQ(kth_over_best(candidates, 1).value(), 1);
  EXPECT_DOUBLE_EQ(kth_over_best(candidates, 2).value(), 1.5);
  EXPECT_DOUBLE_EQ(kth_over_best(candidates, 30).value(), 2) << "there are three";
  EXPECT_FALSE(kth_over_best(std::vector<Ranked>{{0, 1}}, 1).has_value());
}

}  // namespace
}  // namespace tf::replay
