#include "tests/bench/search/replay/sampling_policy.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

Entry entry(std::vector<double> samples, double seconds) {
  Entry made;
  made.ran = true;
  made.replicates = {{std::move(samples), seconds}};
  made.seconds = seconds;
  return made;
}

TEST(FixedRepeats, TakeAtLeastAHundredMillisecondsOfWholeRuns) {
  const Spent fast = measure(entry({0.001}, 0.001), SamplingPolicy::kFixed, {});
  EXPECT_NEAR(fast.device_seconds, 0.001 + 0.1 + kOverheadSeconds, 1e-9);
  const Spent slow = measure(entry({0.3}, 0.3), SamplingPolicy::kFixed, {});
  EXPECT_NEAR(slow.device_seconds, 0.3 + 0.3 + kOverheadSeconds, 1e-9);
  EXPECT_EQ(slow.told.seconds, 0.3);
}

TEST(FixedRepeats, DoNotStopForAHopelessCandidate) {
  const Spent spent = measure(entry({0.01}, 0.01), SamplingPolicy::kFixed, {0.001, 0.01});
  EXPECT_FALSE(spent.told.lower_bound);
  EXPECT_NEAR(spent.device_seconds, 0.01 + 0.1 + kOverheadSeconds, 1e-9);
}

TEST(Racing, TakesAsManyShortSamplesOfAContenderAsTheSessionAsksFor) {
  const Entry contender = entry(std::vector<double>(60, 0.001), 0.001);
  const Spent spent = measure(contender, SamplingPolicy::kRacing, {0.001, 0.01});
  EXPECT_FALSE(spent.told.lower_bound);
  EXPECT_NEAR(spent.device_seconds, 0.001 + 8 * 0.001 + kOverheadSeconds, 1e-9);
  EXPECT_NEAR(spent.told.seconds, 0.001, 1e-9);
  EXPECT_NEAR(sample_in_full(contender.replicates.front()).device_seconds, 0.001 + 12 * 0.001, 1e-9);
}

TEST(Racing, TakesThreeSamplesOfAContenderThatRunsLong) {
  const Spent spent =
      measure(entry(std::vector<double>(6, 0.01), 0.01), SamplingPolicy::kRacing, {0.01, 0.01});
  EXPECT_FALSE(spent.told.lower_bound);
  EXPECT_NEAR(spent.device_seconds, 0.01 + 3 * 0.01 + kOverheadSeconds, 1e-9);
}

TEST(Racing, LeavesAHopelessCandidateAfterOneSample) {
  const Spent spent = measure(entry({0.003, 0.003}, 0.003), SamplingPolicy::kRacing, {0.001, 0.01});
  EXPECT_TRUE(spent.told.lower_bound);
  EXPECT_NEAR(spent.device_seconds, 0.003 + 0.003 + kOverheadSeconds, 1e-9);
  EXPECT_GT(spent.told.seconds, 0.001) << "it is slower than that";
  EXPECT_LT(spent.told.seconds, 0.003) << "one sample may have been unlucky";
  EXPECT_EQ(spent.told.seconds, session::time_of({3e6}, true).seconds) << "as a session is told";
}

TEST(Racing, StopsNothingWithoutAnIncumbent) {
  const Spent spent = measure(entry({0.5, 0.5, 0.5}, 0.5), SamplingPolicy::kRacing, {});
  EXPECT_FALSE(spent.told.lower_bound);
  EXPECT_EQ(spent.told.seconds, 0.5);
}

TEST(Racing, BelievesOnlyTheSamplesThatItDrew) {
  std::vector<double> samples(8, 0.001);
  samples.resize(60, 0.002);  // those that racing never takes
  EXPECT_NEAR(measure(entry(samples, 0.002), SamplingPolicy::kRacing, {}).told.seconds, 0.001, 1e-9);
}

TEST(EveryPolicy, PaysTheDeviceOnlyForWhatRan) {
  for (const SamplingPolicy policy : {SamplingPolicy::kFixed, SamplingPolicy::kRacing}) {
    Entry failed;
    EXPECT_EQ(measure(failed, policy, {1, 0.01}).device_seconds, 0) << "it did not compile";
    failed.ran = true;
    EXPECT_EQ(measure(failed, policy, {1, 0.01}).device_seconds, kOverheadSeconds) << "its answer was wrong";
    EXPECT_EQ(measure(failed, policy, {1, 0.01}).told.seconds, 0);
  }
}

}  // namespace
}  // namespace tf::replay
