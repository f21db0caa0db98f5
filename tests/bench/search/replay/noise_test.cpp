// What noise leaves of an order.

#include "tests/bench/search/replay/noise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tf::replay {
namespace {

TEST(VisitsOfALabel, AreWhatNineOfTenCodesNearTheBestHave) {
  std::vector<Replicates> codes(95, Replicates{1, 1.1, 1});
  codes.resize(100, Replicates{1.2});
  EXPECT_EQ(replicates_of_a_label(codes), 3u);
  codes.resize(120, Replicates{1.2});
  EXPECT_EQ(replicates_of_a_label(codes), 1u);
}

TEST(VisitsOfALabel, AreNotAskedOfHopelessCodesOrFailures) {
  std::vector<Replicates> codes(10, Replicates{1, 1.1});
  codes.resize(100, Replicates{3.5});
  codes.resize(200, Replicates{});
  EXPECT_EQ(replicates_of_a_label(codes), 2u);
  EXPECT_EQ(replicates_of_a_label({}), 1u);
}

TEST(Disagreements, AreBetweenLabelsOfAsManyReplicates) {
  const std::vector<Replicates> codes(30, Replicates{1, 2, 1.1, 3});
  EXPECT_NEAR(disagreements(codes, 2).front(), std::log(1.1), 1e-12);
  EXPECT_NEAR(disagreements(codes, 1).front(), std::log(2), 1e-12);
  EXPECT_EQ(disagreements(codes, 2).size(), 30u);
}

TEST(Disagreements, AreOfHalfAsManyVisitsWhereTooFewCodesHaveEnough) {
  std::vector<Replicates> codes(30, Replicates{1, 2});
  codes[0] = {1, 1, 1, 1};
  EXPECT_EQ(disagreements(codes, 2).size(), 30u);
  EXPECT_TRUE(disagreements(std::vector<Replicates>(30, Replicates{1}), 2).empty());
}

std::vector<Ranked> labels() {
  std::vector<Ranked> all;
  for (int i = 0; i < 200; ++i) all.push_back({.seconds = 1 + 0.005 * i});
  all.push_back({.seconds = 0});
  return all;
}

TEST(TheTruth, RanksAllRightWhereVisitsAgree) {
  const std::vector<double> none = {0};
  EXPECT_EQ(pairwise_accuracy(ranked_by_the_truth(labels(), none)), 1);
}

TEST(TheTruth, RanksTheWorseTheMoreVisitsDiffer) {
  const std::vector<double> little = {-0.02, 0.02}, much = {-0.3, 0.2};
  const double with_little = *pairwise_accuracy(ranked_by_the_truth(labels(), little));
  const double with_much = *pairwise_accuracy(ranked_by_the_truth(labels(), much));
  EXPECT_LT(with_little, 1);
  EXPECT_GT(with_little, 0.95);
  EXPECT_LT(with_much, with_little);
}

TEST(TheTruth, PutsFailuresLast) {
  const std::vector<double> some = {0.1};
  const std::vector<Ranked> ranked = ranked_by_the_truth(labels(), some);
  EXPECT_EQ(ranked.back().seconds, 0);
  for (size_t i = 0; i + 1 < ranked.size(); ++i) EXPECT_GT(ranked[i].score, ranked.back().score);
}

TEST(TheTruth, SaysNothingOfWhatWasVisitedOnce) {
  EXPECT_TRUE(ranked_by_the_truth(labels(), {}).empty());
}

}  // namespace
}  // namespace tf::replay
