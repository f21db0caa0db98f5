#include "device_agent/worker/sandbox/patience.h"

#include <gtest/gtest.h>

namespace {

using tf::worker::sandbox::Patience;

constexpr int64_t kMs = 1'000'000;

TEST(Patience, KeepsABatchForWhichTheProcessorWorkedAllTheTime) {
  Patience patience(100 * kMs);
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 5 * kMs, .total_ns = 5 * kMs, .cpu_ns = 5 * kMs - 2'000}));
  EXPECT_GE(patience.batch_ns(), 1000 * kMs);
}

TEST(Patience, LeavesOutABatchThatLostItsProcessorAndAsksForShorterOnes) {
  Patience patience(100 * kMs);
  EXPECT_TRUE(patience.leaves_out({.elapsed_ns = 20 * kMs, .total_ns = 20 * kMs, .cpu_ns = 4 * kMs}));
  EXPECT_EQ(patience.batch_ns(), 2 * kMs);
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 2 * kMs, .total_ns = 2 * kMs, .cpu_ns = 2 * kMs}));
}

TEST(Patience, NeverAsksForBatchesSoShortThatReadingTheClockCounts) {
  Patience patience(100 * kMs);
  for (int i = 0; i < 9; ++i)
    ASSERT_TRUE(patience.leaves_out({.elapsed_ns = 10 * kMs, .total_ns = 10 * kMs, .cpu_ns = 1'000}));
  EXPECT_EQ(patience.batch_ns(), 200'000);
}

TEST(Patience, CountsEverythingOnceItIsUsedUp) {
  Patience patience(100 * kMs);
  EXPECT_TRUE(patience.leaves_out({.elapsed_ns = 60 * kMs, .total_ns = 60 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 60 * kMs, .total_ns = 60 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_TRUE(patience.leaves_out({.elapsed_ns = 40 * kMs, .total_ns = 40 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 1 * kMs, .total_ns = 1 * kMs, .cpu_ns = 100'000}));
}

TEST(Patience, IsUsedUpByWhatLiesBetweenBatchesToo) {
  Patience patience(100 * kMs);
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 61 * kMs, .total_ns = 1 * kMs, .cpu_ns = 1 * kMs}));
  EXPECT_TRUE(patience.is_left());
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 50 * kMs, .total_ns = 50 * kMs, .cpu_ns = 1 * kMs}));
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 41 * kMs, .total_ns = 1 * kMs, .cpu_ns = 1 * kMs}));
  EXPECT_FALSE(patience.is_left());
  EXPECT_GE(patience.batch_ns(), 1000 * kMs);
}

TEST(Patience, KnowsWhetherWhatCountsWasDisturbed) {
  Patience calm(100 * kMs);
  EXPECT_FALSE(calm.leaves_out({.elapsed_ns = 5 * kMs, .total_ns = 5 * kMs, .cpu_ns = 5 * kMs}));
  EXPECT_TRUE(calm.leaves_out({.elapsed_ns = 20 * kMs, .total_ns = 20 * kMs, .cpu_ns = 4 * kMs}));
  EXPECT_FALSE(calm.is_disturbed()) << "what was interrupted is left out";
  Patience overrun(100 * kMs);
  EXPECT_FALSE(overrun.leaves_out({.elapsed_ns = 200 * kMs, .total_ns = 150 * kMs, .cpu_ns = 100 * kMs}));
  EXPECT_TRUE(overrun.is_disturbed()) << "one run takes longer than the patience";
  Patience used_up(100 * kMs);
  EXPECT_TRUE(used_up.leaves_out({.elapsed_ns = 100 * kMs, .total_ns = 100 * kMs, .cpu_ns = 10 * kMs}));
  EXPECT_TRUE(used_up.is_disturbed()) << "from here on nobody looks";
}

TEST(Patience, OfNothingCountsEverything) {
  Patience patience(0);
  EXPECT_FALSE(patience.leaves_out({.elapsed_ns = 5 * kMs, .total_ns = 5 * kMs, .cpu_ns = 0}));
  EXPECT_FALSE(Patience(0).is_disturbed());
}

}  // namespace
