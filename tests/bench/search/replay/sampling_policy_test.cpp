#include "tests/bench/search/replay/sampling_policy.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

Entry entry(std::vector<double> samples, double seconds) {
  Entry made;
  made.ran = true;
  made.samples = std::move(samples);
  made.seconds = seconds;
  return made;
}

TEST(FixedRepeats, TakeAtLeastAHundredMillisecondsOfWholeRuns) {
  const Spent fast = measure(entry({0.001}, 0.001), SamplingPolicy::kFixed, 0);
  EXPECT_NEAR(fast.device_seconds, 0.001 + 0.1 + kOverheadSeconds, 1e-9);
  const Spent slow = measure(entry({0.3}, 0.3), SamplingPolicy::kFixed, 0);
  EXPECT_NEAR(slow.device_seconds, 0.3 + 0.3 + kOverheadSeconds, 1e-9);
  EXPECT_EQ(slow.seconds, 0.3);
}

TEST(FixedRepeats, DoNotStopForAHopelessCandidate) {
  const Spent spent = measure(entry({0.01}, 0.01), SamplingPolicy::kFixed, 0.001);
  EXPECT_FALSE(spent.stopped_early);
  EXPECT_NEAR(spent.device_seconds, 0.01 + 0.1 + kOverheadSeconds, 1e-9);
}

TEST(Racing, TakesFiveSamplesOfFiveMillisecondsFromAContender) {
  const Spent spent = measure(entry(std::vector<double>(10, 0.001), 0.001), SamplingPolicy::kRacing, 0.001);
  EXPECT_FALSE(spent.stopped_early);
  EXPECT_NEAR(spent.device_seconds, 0.001 + 5 * 0.005 + kOverheadSeconds, 1e-9);
  EXPECT_EQ(spent.seconds, 0.001);
}

TEST(Racing, LeavesAHopelessCandidateAfterOneSample) {
  const Spent spent = measure(entry({0.003, 0.003}, 0.003), SamplingPolicy::kRacing, 0.001);
  EXPECT_TRUE(spent.stopped_early);
  EXPECT_NEAR(spent.device_seconds, 0.003 + 2 * 0.003 + kOverheadSeconds, 1e-9) << "a sample is whole runs";
}

TEST(Racing, NeedsASecondSampleWhenTheFirstIsNotClear) {
  const Spent spent = measure(entry({0.0018, 0.0018}, 0.0018), SamplingPolicy::kRacing, 0.001);
  EXPECT_TRUE(spent.stopped_early);
  EXPECT_NEAR(spent.device_seconds, 0.0018 + 2 * 3 * 0.0018 + kOverheadSeconds, 1e-9);
}

TEST(Racing, BelievesOnlyTheSamplesThatItDrew) {
  // The five slowest come later.
  const Spent spent = measure(entry({1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, 1.5), SamplingPolicy::kRacing, 0);
  EXPECT_EQ(spent.seconds, 1);
}

TEST(EveryPolicy, PaysTheDeviceOnlyForWhatRan) {
  for (const SamplingPolicy policy : {SamplingPolicy::kFixed, SamplingPolicy::kRacing}) {
    Entry failed;
    EXPECT_EQ(measure(failed, policy, 1).device_seconds, 0) << "it did not compile";
    failed.ran = true;
    EXPECT_EQ(measure(failed, policy, 1).device_seconds, kOverheadSeconds) << "its answer was wrong";
    EXPECT_EQ(measure(failed, policy, 1).seconds, 0);
  }
}

}  // namespace
}  // namespace tf::replay
