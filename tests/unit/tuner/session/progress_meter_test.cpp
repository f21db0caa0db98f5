#include "tuner/session/loop/progress_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tf::session {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ProgressMeter, TellsOfAJobThatIsOverWhatAllItsRunsDid) {
  const Budget budget{.minutes = 2};
  ProgressMeter meter(budget);
  // Between the last two the tuner was away.
  meter.add_earlier_runs({0, 10 * kSecond, 20 * kSecond, 500 * kSecond}, 5);
  Progress progress;
  progress.set_phase(PHASE_OVER);
  progress.set_trials(40);
  progress.set_trials_per_second(0.1);  // lately
  meter.describe(progress);
  EXPECT_NEAR(progress.elapsed_s(), 20, 1);
  EXPECT_NEAR(progress.trials_per_second(), 2, 0.2);
  EXPECT_NEAR(progress.device_busy_share(), 0.25, 0.02);
  EXPECT_NEAR(progress.remaining_s(), 100, 1);
}

// Three seconds of devices, two of them beside each other, then a second without any.
TEST(ProgressMeter, CountsTheTimeOfEachDeviceAndNotTheTimeWithoutOne) {
  const Budget budget{.minutes = 1};
  ProgressMeter meter(budget);
  const Clock::time_point start = Clock::now();
  meter.note_slots(1, start);
  meter.note_slots(2, start + std::chrono::seconds(1));
  meter.note_slots(0, start + std::chrono::seconds(2));
  database::Measurement trial;
  for (int i = 0; i < 3; ++i) trial.samples.push_back({kSecond / 2, 1});
  meter.count_trial(trial);
  Progress progress;
  progress.set_phase(PHASE_OVER);
  progress.set_trials(1);
  meter.describe(progress, start + std::chrono::seconds(3));
  EXPECT_EQ(progress.slots(), 0);
  EXPECT_NEAR(progress.elapsed_s(), 3, 0.1);
  EXPECT_NEAR(progress.without_device_s(), 1, 0.1);
  EXPECT_NEAR(progress.remaining_s(), 58, 0.1);
  EXPECT_NEAR(progress.device_busy_share(), 0.5, 0.02);
}

// What a device was away for, until now, is added to the end.
TEST(ProgressMeter, TheBudgetStandsStillWhileThereIsNoDevice) {
  const Budget budget{.minutes = 1};
  ProgressMeter meter(budget);
  const Clock::time_point start = Clock::now(), end = meter.deadline(0);
  meter.note_slots(0, start);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_GE(meter.deadline(0), end + std::chrono::milliseconds(50));
  meter.note_slots(1);
  const Clock::time_point later = meter.deadline(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(meter.deadline(0), later);
}

TEST(ProgressMeter, KeepsTheRateOfTrialsDuringTheFinals) {
  const Budget budget{.trials = 40};
  ProgressMeter meter(budget);
  Progress progress;
  progress.set_phase(PHASE_FINALS);
  progress.set_trials(40);
  progress.set_trials_per_second(3);
  meter.describe(progress);
  EXPECT_EQ(progress.trials_per_second(), 3);
  EXPECT_FALSE(progress.has_remaining_s());
  progress.set_phase(PHASE_MEASURING);
  meter.describe(progress);
  EXPECT_EQ(progress.trials_per_second(), 0) << "of the last half minute";
}

TEST(ProgressMeter, TellsInTheEndTheGapBetweenTrialsOfOneSlotByItsOwnClock) {
  const Budget budget;
  ProgressMeter meter(budget);
  meter.count_timed("desk/0", 10 * kSecond, 11 * kSecond);
  meter.count_timed("attic/0", 5 * kSecond, 6 * kSecond);
  Progress progress;
  progress.set_phase(PHASE_OVER);
  meter.describe(progress);
  EXPECT_FALSE(progress.has_median_gap_s()) << "each slot has one trial";
  meter.count_timed("desk/0", 0, 1 * kSecond);
  progress.set_phase(PHASE_MEASURING);
  meter.describe(progress);
  EXPECT_FALSE(progress.has_median_gap_s());
  progress.set_phase(PHASE_OVER);
  meter.describe(progress);
  EXPECT_NEAR(progress.median_gap_s(), 9, 1e-9);
}

}  // namespace
}  // namespace tf::session
