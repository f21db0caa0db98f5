#include "device_agent/worker/sandbox/grace_period.h"

#include <gtest/gtest.h>

namespace {

using tf::worker::sandbox::GracePeriod;

constexpr int64_t kMs = 1'000'000;

TEST(GracePeriod, KeepsABatchForWhichTheProcessorWorkedAllTheTime) {
  GracePeriod grace_period(100 * kMs);
  EXPECT_FALSE(
      grace_period.leaves_out({.elapsed_ns = 5 * kMs, .total_ns = 5 * kMs, .cpu_ns = 5 * kMs - 2'000}));
  EXPECT_GE(grace_period.batch_ns(), 1000 * kMs);
}

TEST(GracePeriod, LeavesOutABatchThatLostItsProcessorAndAsksForShorterOnes) {
  GracePeriod grace_period(100 * kMs);
  EXPECT_TRUE(grace_period.leaves_out({.elapsed_ns = 20 * kMs, .total_ns = 20 * kMs, .cpu_ns = 4 * kMs}));
  EXPECT_EQ(grace_period.batch_ns(), 2 * kMs);
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 2 * kMs, .total_ns = 2 * kMs, .cpu_ns = 2 * kMs}));
}

TEST(GracePeriod, NeverAsksForBatchesSoShortThatReadingTheClockCounts) {
  GracePeriod grace_period(100 * kMs);
  for (int i = 0; i < 9; ++i)
    ASSERT_TRUE(grace_period.leaves_out({.elapsed_ns = 10 * kMs, .total_ns = 10 * kMs, .cpu_ns = 1'000}));
  EXPECT_EQ(grace_period.batch_ns(), 200'000);
}

TEST(GracePeriod, CountsEverythingOnceItIsUsedUp) {
  GracePeriod grace_period(100 * kMs);
  EXPECT_TRUE(grace_period.leaves_out({.elapsed_ns = 60 * kMs, .total_ns = 60 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 60 * kMs, .total_ns = 60 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_TRUE(grace_period.leaves_out({.elapsed_ns = 40 * kMs, .total_ns = 40 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 1 * kMs, .total_ns = 1 * kMs, .cpu_ns = 100'000}));
}

TEST(GracePeriod, IsUsedUpByWhatLiesBetweenBatchesToo) {
  GracePeriod grace_period(100 * kMs);
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 61 * kMs, .total_ns = 1 * kMs, .cpu_ns = 1 * kMs}));
  EXPECT_TRUE(grace_period.is_left());
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 50 * kMs, .total_ns = 50 * kMs, .cpu_ns = 1 * kMs}));
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 41 * kMs, .total_ns = 1 * kMs, .cpu_ns = 1 * kMs}));
  EXPECT_FALSE(grace_period.is_left());
  EXPECT_GE(grace_period.batch_ns(), 1000 * kMs);
}

TEST(GracePeriod, KnowsWhetherWhatCountsWasDisturbed) {
  GracePeriod calm(100 * kMs);
  EXPECT_FALSE(calm.leaves_out({.elapsed_ns = 5 * kMs, .total_ns = 5 * kMs, .cpu_ns = 5 * kMs}));
  EXPECT_TRUE(calm.leaves_out({.elapsed_ns = 20 * kMs, .total_ns = 20 * kMs, .cpu_ns = 4 * kMs}));
  EXPECT_FALSE(calm.is_disturbed()) << "what was interrupted is left out";
  GracePeriod overrun(100 * kMs);
  EXPECT_FALSE(overrun.leaves_out({.elapsed_ns = 200 * kMs, .total_ns = 150 * kMs, .cpu_ns = 100 * kMs}));
  EXPECT_TRUE(overrun.is_disturbed()) << "one run takes longer than the grace period";
  GracePeriod used_up(100 * kMs);
  EXPECT_TRUE(used_up.leaves_out({.elapsed_ns = 100 * kMs, .total_ns = 100 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_TRUE(used_up.is_disturbed()) << "from here on nobody looks";
}

TEST(GracePeriod, OfNothingCountsEverything) {
  GracePeriod grace_period(0);
  EXPECT_FALSE(grace_period.leaves_out({.elapsed_ns = 5 * kMs, .total_ns = 5 * kMs, .cpu_ns = 0}));
  EXPECT_FALSE(GracePeriod(0).is_disturbed());
}

}  // namespace
