#include "tuner/session/finals/finals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Finals, HasThoseAsFinalistsWhoseBoundsReachTheOneWithTheShortestSample) {
  const std::vector<Estimate> finalists = {
      {.median_ns = 130, .low_ns = 128, .high_ns = 132, .least_ns = 128},
      {.median_ns = 103, .low_ns = 100, .high_ns = 106, .least_ns = 99},
      {},
      {.median_ns = 100, .low_ns = 99, .high_ns = 101, .least_ns = 98},
      {.median_ns = 150, .low_ns = 101, .high_ns = 160, .least_ns = 101}};
  EXPECT_THAT(Finals::finalists(finalists), ElementsAre(3, 1, 4)) << "the last one was disturbed";
  EXPECT_THAT(Finals::finalists({}), IsEmpty());
}

TEST(Finals, DropsWhoIsBeatenAndGoesOnWithTheCloseOnes) {
  Finals finals(3);
  const double times[] = {100, 101, 120};
  std::vector<size_t> in = finals.next_round();
  EXPECT_THAT(in, UnorderedElementsAre(0, 1, 2));
  for (int round = 0; round < 2; ++round) {
    // 0 and 1 are as fast as each other: each round another one leads.
    finals.add(0, times[round]);
    finals.add(1, times[1 - round]);
    finals.add(2, times[2]);
    finals.end_round();
  }
  EXPECT_THAT(finals.next_round(), UnorderedElementsAre(0, 1));
}

TEST(Finals, EndsAfterItsLastRoundWithTheLeastMeanAsWinner) {
  Finals finals(2);
  int rounds = 0;
  for (; !finals.next_round().empty(); ++rounds) {
    finals.add(0, 100 + rounds % 2);
    finals.add(1, rounds == 0 ? 95 : 100.6 + rounds % 2);  // lucky once
    finals.end_round();
  }
  EXPECT_EQ(rounds, Finals::kRounds);
  EXPECT_EQ(finals.scores().front().finalist, 0u);
}

TEST(Finals, ComparesWithinARoundWhatTheMachineDoesInIt) {
  Finals finals(2);
  int rounds = 0;
  // Of a machine that is up to half as slow again from round to round, candidate 1 needs 3% more.
  for (; !finals.next_round().empty(); ++rounds) {
    const double machine = 100 + 50 * (rounds % 2);
    finals.add(0, machine);
    finals.add(1, machine * 1.03);
    finals.end_round();
  }
  EXPECT_LT(rounds, 6);
  EXPECT_EQ(finals.scores().front().finalist, 0u);
}

TEST(Finals, DoesNotTrustTwoRoundsThatAgree) {
  Finals finals(2);
  for (int round = 0; round < 2; ++round) {
    finals.add(0, 100);
    finals.add(1, 102);
    finals.end_round();
  }
  EXPECT_THAT(finals.next_round(), UnorderedElementsAre(0, 1));
}

TEST(Finals, GoesOnWithoutWhoCannotBeMeasured) {
  Finals finals(3);
  finals.add(1, 100);
  finals.add(2, 105);
  finals.end_round();
  EXPECT_THAT(finals.next_round(), UnorderedElementsAre(1, 2));
  EXPECT_EQ(finals.scores().front().finalist, 1u);
}

TEST(Finals, TellsHowEachStandsBesideTheWinner) {
  Finals finals(4);
  for (int round = 0; !finals.next_round().empty(); ++round) {
    const double machine = 100 + 10 * round;  // slower and slower
    finals.add(0, machine * 1.002);
    finals.add(1, machine);
    if (round < 2) finals.add(2, machine * 1.05);
    if (round < 1) finals.add(3, machine * 0.9);  // then it cannot be measured any more
    finals.end_round();
  }
  const std::vector<Finals::Score> scores = finals.scores();
  ASSERT_EQ(scores.size(), 4u);
  EXPECT_EQ(scores[0].finalist, 1u);
  EXPECT_EQ(scores[0].high, 1);
  EXPECT_EQ(scores[1].finalist, 3u);
  EXPECT_EQ(scores[1].ratio, 1) << "whoever left is no faster";
  EXPECT_EQ(scores[2].finalist, 0u);
  EXPECT_NEAR(scores[2].ratio, 1.002, 1e-6);
  EXPECT_LT(scores[2].low, 1) << "too close to call";
  EXPECT_EQ(scores[3].finalist, 2u);
  EXPECT_NEAR(scores[3].ratio, 1.05, 1e-6) << "of the rounds that it had";
  EXPECT_GT(scores[3].low, 1);
}

// The machine becomes slower: who is out early has the shorter times.
TEST(Finals, IsWonByWhoStayedLongestIfNobodyIsLeft) {
  Finals finals(3);
  for (int round = 0; !finals.next_round().empty(); ++round) {
    const double machine = round < 2 ? 100 : 200;
    finals.add(0, machine);
    if (round < 2) finals.add(1, machine * 1.1);
    finals.add(2, machine * 1.02);
    finals.end_round();
  }
  finals.fail(0);
  EXPECT_EQ(finals.scores().front().finalist, 2u);
}

TEST(Finals, BelievesNobodyThatFails) {
  Finals finals(3);
  for (int round = 0; round < 2; ++round) {
    finals.add(0, 90);
    finals.add(1, 100);
    finals.add(2, 101);
    finals.end_round();
  }
  EXPECT_THAT(finals.next_round(), IsEmpty()) << "both are out, by the first one's times";
  finals.fail(0);
  const std::vector<Finals::Score> scores = finals.scores();
  ASSERT_EQ(scores.size(), 2u) << "it was fast because it was wrong";
  EXPECT_EQ(scores[0].finalist, 1u);
  EXPECT_NEAR(scores[1].ratio, 1.01, 1e-6);
}

}  // namespace
}  // namespace tf::session
