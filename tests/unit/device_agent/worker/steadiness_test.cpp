#include "device_agent/worker/steadiness.h"

#include <gtest/gtest.h>

namespace tf::worker {
namespace {

TEST(Steadiness, AsksForAReadingAtFirstAndThenNowAndAgain) {
  Steadiness steadiness;
  EXPECT_TRUE(steadiness.is_due(0));
  EXPECT_EQ(steadiness.take(100, 0), 0);
  EXPECT_FALSE(steadiness.is_due(Steadiness::kEveryNs - 1));
  EXPECT_TRUE(steadiness.is_due(Steadiness::kEveryNs));
}

TEST(Steadiness, TakesAFewPercentForNothing) {
  Steadiness steadiness;
  EXPECT_EQ(steadiness.take(100, 0), 0);
  EXPECT_EQ(steadiness.take(95, 0), 0);
  EXPECT_EQ(steadiness.take(104, 0), 0);
}

TEST(Steadiness, RestsUntilTheSpeedIsBack) {
  Steadiness steadiness;
  EXPECT_EQ(steadiness.take(100, 0), 0);
  EXPECT_GT(steadiness.take(80, 0), 0);
  EXPECT_GT(steadiness.take(85, 0), 0);
  EXPECT_EQ(steadiness.take(99, 7), 0);
  EXPECT_FALSE(steadiness.is_due(8));
}

// How long a trial waits, by the clock, on a machine that is slow from now on and takes so long for each
// reading.
int64_t rest_ns(Steadiness& steadiness, double rate, int64_t now_ns, int64_t reading_ns) {
  const int64_t began_ns = now_ns;
  for (int64_t left_ns; (left_ns = steadiness.take(rate, now_ns)) > 0;) now_ns += left_ns + reading_ns;
  return now_ns - began_ns;
}

TEST(Steadiness, TakesASpeedThatDoesNotComeBackForTheNewOne) {
  Steadiness steadiness;
  EXPECT_EQ(steadiness.take(100, 0), 0);
  EXPECT_EQ(rest_ns(steadiness, 70, 0, 0), Steadiness::kLongestRestNs);
  const int64_t now_ns = Steadiness::kLongestRestNs;
  EXPECT_EQ(steadiness.take(70, now_ns), 0);
  EXPECT_EQ(rest_ns(steadiness, 60, now_ns, 0), now_ns / Steadiness::kRestedShare) << "it has rested enough";
  EXPECT_GT(steadiness.take(50, 3 * now_ns), 0) << "of a longer time, it may rest more";
}

TEST(Steadiness, KeepsATrialWaitingNoLongerHoweverLongTheMachineWasFast) {
  for (const int64_t fast_ns : {int64_t{0}, 100 * Steadiness::kLongestRestNs}) {
    Steadiness steadiness;
    EXPECT_EQ(steadiness.take(100, 0), 0);
    EXPECT_LE(rest_ns(steadiness, 70, fast_ns, 0), Steadiness::kLongestRestNs) << fast_ns;
  }
}

TEST(Steadiness, CountsSlowReadingsAsRest) {
  Steadiness steadiness;
  EXPECT_EQ(steadiness.take(100, 0), 0);
  const int64_t reading_ns = 3 * Steadiness::kRestNs;
  EXPECT_LE(rest_ns(steadiness, 70, 100 * Steadiness::kRestNs, reading_ns),
            Steadiness::kLongestRestNs + reading_ns);
}

TEST(Steadiness, TakesTimeWithoutTrialsForNoRest) {
  Steadiness steadiness;
  EXPECT_EQ(steadiness.take(100, 0), 0);
  EXPECT_GT(steadiness.take(70, 0), 0) << "and its trial is ended meanwhile";
  const int64_t later_ns = 100 * Steadiness::kLongestRestNs;
  EXPECT_EQ(steadiness.take(70, later_ns), 0) << "it has been slow for long";
  EXPECT_GT(steadiness.take(50, later_ns), 0);
}

}  // namespace
}  // namespace tf::worker
