#include "tuner/session/playoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Playoff, HasThoseAsFinalistsWhoseBoundsReachTheOneWithTheShortestSample) {
  const std::vector<Estimate> contenders = {
      {.median_ns = 130, .low_ns = 128, .high_ns = 132, .least_ns = 128},
      {.median_ns = 103, .low_ns = 100, .high_ns = 106, .least_ns = 99},
      {},
      {.median_ns = 100, .low_ns = 99, .high_ns = 101, .least_ns = 98},
      {.median_ns = 150, .low_ns = 101, .high_ns = 160, .least_ns = 101}};
  EXPECT_THAT(Playoff::finalists(contenders), ElementsAre(3, 1, 4)) << "the last one was disturbed";
  EXPECT_THAT(Playoff::finalists({}), IsEmpty());
}

TEST(Playoff, DropsWhoIsBeatenAndGoesOnWithTheCloseOnes) {
  Playoff playoff(3);
  const double times[] = {100, 101, 120};
  std::vector<size_t> in = playoff.next_round();
  EXPECT_THAT(in, UnorderedElementsAre(0, 1, 2));
  for (int round = 0; round < 2; ++round) {
    // 0 and 1 are as fast as each other: each round another one leads.
    playoff.add(0, times[round]);
    playoff.add(1, times[1 - round]);
    playoff.add(2, times[2]);
    playoff.end_round();
  }
  EXPECT_THAT(playoff.next_round(), UnorderedElementsAre(0, 1));
}

TEST(Playoff, EndsAfterItsLastRoundWithTheLeastMeanAsWinner) {
  Playoff playoff(2);
  int rounds = 0;
  for (; !playoff.next_round().empty(); ++rounds) {
    playoff.add(0, 100 + rounds % 2);
    playoff.add(1, rounds == 0 ? 95 : 100.6 + rounds % 2);  // lucky once
    playoff.end_round();
  }
  EXPECT_EQ(rounds, Playoff::kRounds);
  EXPECT_EQ(playoff.standings().front().finalist, 0u);
}

TEST(Playoff, ComparesWithinARoundWhatTheMachineDoesInIt) {
  Playoff playoff(2);
  int rounds = 0;
  // Of a machine that is up to half as slow again from round to round, candidate 1 needs 3% more.
  for (; !playoff.next_round().empty(); ++rounds) {
    const double machine = 100 + 50 * (rounds % 2);
    playoff.add(0, machine);
    playoff.add(1, machine * 1.03);
    playoff.end_round();
  }
  EXPECT_LT(rounds, 6);
  EXPECT_EQ(playoff.standings().front().finalist, 0u);
}

TEST(Playoff, DoesNotTrustTwoRoundsThatAgree) {
  Playoff playoff(2);
  for (int round = 0; round < 2; ++round) {
    playoff.add(0, 100);
    playoff.add(1, 102);
    playoff.end_round();
  }
  EXPECT_THAT(playoff.next_round(), UnorderedElementsAre(0, 1));
}

TEST(Playoff, GoesOnWithoutWhoCannotBeMeasured) {
  Playoff playoff(3);
  playoff.add(1, 100);
  playoff.add(2, 105);
  playoff.end_round();
  EXPECT_THAT(playoff.next_round(), UnorderedElementsAre(1, 2));
  EXPECT_EQ(playoff.standings().front().finalist, 1u);
}

TEST(Playoff, TellsHowEachStandsBesideTheWinner) {
  Playoff playoff(4);
  for (int round = 0; !playoff.next_round().empty(); ++round) {
    const double machine = 100 + 10 * round;  // slower and slower
    playoff.add(0, machine * 1.002);
    playoff.add(1, machine);
    if (round < 2) playoff.add(2, machine * 1.05);
    if (round < 1) playoff.add(3, machine * 0.9);  // then it cannot be measured any more
    playoff.end_round();
  }
  const std::vector<Playoff::Standing> standings = playoff.standings();
  ASSERT_EQ(standings.size(), 4u);
  EXPECT_EQ(standings[0].finalist, 1u);
  EXPECT_EQ(standings[0].high, 1);
  EXPECT_EQ(standings[1].finalist, 3u);
  EXPECT_EQ(standings[1].ratio, 1) << "whoever left is no faster";
  EXPECT_EQ(standings[2].finalist, 0u);
  EXPECT_NEAR(standings[2].ratio, 1.002, 1e-6);
  EXPECT_LT(standings[2].low, 1) << "too close to call";
  EXPECT_EQ(standings[3].finalist, 2u);
  EXPECT_NEAR(standings[3].ratio, 1.05, 1e-6) << "of the rounds that it had";
  EXPECT_GT(standings[3].low, 1);
}

// The machine becomes slower: who is out early has the shorter times.
TEST(Playoff, IsWonByWhoStayedLongestIfNobodyIsLeft) {
  Playoff playoff(3);
  for (int round = 0; !playoff.next_round().empty(); ++round) {
    const double machine = round < 2 ? 100 : 200;
    playoff.add(0, machine);
    if (round < 2) playoff.add(1, machine * 1.1);
    playoff.add(2, machine * 1.02);
    playoff.end_round();
  }
  playoff.fail(0);
  EXPECT_EQ(playoff.standings().front().finalist, 2u);
}

TEST(Playoff, BelievesNobodyThatFails) {
  Playoff playoff(3);
  for (int round = 0; round < 2; ++round) {
    playoff.add(0, 90);
    playoff.add(1, 100);
    playoff.add(2, 101);
    playoff.end_round();
  }
  EXPECT_THAT(playoff.next_round(), IsEmpty()) << "both are out, by the first one's times";
  playoff.fail(0);
  const std::vector<Playoff::Standing> standings = playoff.standings();
  ASSERT_EQ(standings.size(), 2u) << "it was fast because it was wrong";
  EXPECT_EQ(standings[0].finalist, 1u);
  EXPECT_NEAR(standings[1].ratio, 1.01, 1e-6);
}

}  // namespace
}  // namespace tf::session
