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

TEST(Steadiness, TakesASpeedThatDoesNotComeBackForTheNewOne) {
  Steadiness steadiness;
  EXPECT_EQ(steadiness.take(100, 0), 0);
  int64_t rested_ns = 0;
  for (int64_t rest_ns; (rest_ns = steadiness.take(70, 0)) > 0;) rested_ns += rest_ns;
  EXPECT_EQ(rested_ns, Steadiness::kLongestRestNs);
  EXPECT_EQ(steadiness.take(70, 0), 0);
  EXPECT_EQ(steadiness.take(60, 0), 0) << "it has rested enough";
  EXPECT_GT(steadiness.take(50, 100 * Steadiness::kRestNs), 0) << "of a longer time, it may rest more";
}

}  // namespace
}  // namespace tf::worker
