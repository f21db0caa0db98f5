#include "tuner/session/progress_meter.h"

#include <gtest/gtest.h>

namespace tf::session {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ProgressMeter, TellsOfAJobThatIsOverWhatAllItsRunsDid) {
  const Budget budget{.minutes = 2};
  ProgressMeter meter(budget);
  // Between the last two the tuner was away.
  meter.add_earlier_runs({0, 10 * kSecond, 20 * kSecond, 500 * kSecond}, 5);
  Progress progress{.phase = Phase::kOver, .trials = 40, .trials_per_second = 0.1};  // lately
  meter.describe(2, progress);
  EXPECT_NEAR(progress.elapsed_s, 20, 1);
  EXPECT_NEAR(progress.trials_per_second, 2, 0.2);
  EXPECT_NEAR(progress.device_busy_share, 0.125, 0.02);
  EXPECT_NEAR(progress.remaining_s.value_or(0), 100, 1);
}

TEST(ProgressMeter, KeepsTheRateOfTrialsDuringAPlayOff) {
  const Budget budget{.trials = 40};
  ProgressMeter meter(budget);
  Progress progress{.phase = Phase::kPlayOff, .trials = 40, .trials_per_second = 3};
  meter.describe(1, progress);
  EXPECT_EQ(progress.trials_per_second, 3);
  EXPECT_FALSE(progress.remaining_s.has_value());
  progress.phase = Phase::kMeasuring;
  meter.describe(1, progress);
  EXPECT_EQ(progress.trials_per_second, 0) << "of the last half minute";
}

TEST(ProgressMeter, TellsInTheEndTheGapBetweenTrialsOfOneSlotByItsOwnClock) {
  const Budget budget;
  ProgressMeter meter(budget);
  meter.count_timed("desk/0", 10 * kSecond, 11 * kSecond);
  meter.count_timed("attic/0", 5 * kSecond, 6 * kSecond);
  Progress progress{.phase = Phase::kOver};
  meter.describe(1, progress);
  EXPECT_FALSE(progress.median_gap_s.has_value()) << "each slot has one trial";
  meter.count_timed("desk/0", 0, 1 * kSecond);
  progress.phase = Phase::kMeasuring;
  meter.describe(1, progress);
  EXPECT_FALSE(progress.median_gap_s.has_value());
  progress.phase = Phase::kOver;
  meter.describe(1, progress);
  EXPECT_NEAR(progress.median_gap_s.value_or(0), 9, 1e-9);
}

}  // namespace
}  // namespace tf::session
