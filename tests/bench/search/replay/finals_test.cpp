#include "tests/bench/search/replay/finals.h"

#include <gtest/gtest.h>

#include "compiler/schedule/schedule.h"
#include "tests/bench/search/replay/sampling_policy.h"

namespace tf::replay {
namespace {

// Entries whose replicates' samples, of so many microseconds each, are all alike.
Pool pool_of(const std::vector<std::vector<int64_t>>& replicates_us) {
  Pool pool;
  for (size_t i = 0; i < replicates_us.size(); ++i) {
    for (const int64_t us : replicates_us[i]) {
      database::Measurement record;
      record.schedule = std::to_string(i);
      record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
      for (int sample = 0; sample < 12; ++sample) record.samples.push_back({.total_ns = us * 1000});
      pool.add(record);
    }
  }
  return pool;
}

std::vector<Arrival> arrivals_of(const Pool& pool) {
  std::vector<Arrival> arrivals;
  for (const auto& entry : pool.entries())
    arrivals.push_back({entry.get(), measure(*entry, SamplingPolicy::kRacing, {}).seen});
  return arrivals;
}

TEST(ReplayedFinals, IsWonByWhoIsFasterInItsTrialsWhateverTheRaceShowed) {
  const Pool pool = pool_of({{1000, 10, 1200, 10, 1200, 10, 1200},
                             {1005, 1000, 1000, 1000, 1000, 1000, 1000},
                             {3000, 10, 10, 10, 10}});
  const ReplayedFinals replayed = run_finals(arrivals_of(pool), replicate_of_round);
  EXPECT_EQ(replayed.winner->schedule, "1") << "the third was no finalist";
  EXPECT_GE(replayed.trials, 2 * 2) << "two rounds of two";
  EXPECT_GT(replayed.device_seconds, replayed.trials * kOverheadSeconds);
}

TEST(ReplayedFinals, GoesByTheShortestSampleOfEachTrial) {
  Pool pool = pool_of({{1000, 1000}, {1005, 1000}});
  // What others add to most samples of the faster one's trials.
  for (const int64_t us : {980, 2000, 990, 2000, 985}) {
    database::Measurement record;
    record.schedule = "1";
    record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
    record.samples = {{.total_ns = 2 * us * 1000}, {.total_ns = us * 1000}, {.total_ns = 2 * us * 1000}};
    pool.add(record);
    record.schedule = "0";
    record.samples.assign(3, {.total_ns = 1'000'000});
    pool.add(record);
  }
  EXPECT_EQ(run_finals(arrivals_of(pool), replicate_of_round).winner->schedule, "1");
}

TEST(ReplayedFinals, OfOneWhoIsClearlyTheBestCostsNothing) {
  const Pool pool = pool_of({{1000, 1000, 1000}, {2000, 500, 500}});
  const ReplayedFinals replayed = run_finals(arrivals_of(pool), replicate_of_round);
  EXPECT_EQ(replayed.winner->schedule, "0");
  EXPECT_EQ(replayed.trials, 0);
  EXPECT_EQ(replayed.device_seconds, 0);
}

TEST(ReplayedFinals, GoesByTheRaceWhereNobodyWasVisitedAgain) {
  const Pool pool = pool_of({{1005}, {1000}, {1003}});
  const ReplayedFinals replayed = run_finals(arrivals_of(pool), replicate_of_round);
  EXPECT_EQ(replayed.winner->schedule, "1");
  EXPECT_EQ(replayed.device_seconds, 0);
}

TEST(ReplayedFinals, EndsWithTheLastRoundForWhichAllHaveAReplicate) {
  const Pool pool = pool_of({{1000, 10, 1100, 10, 10}, {1000, 1000, 1000}});
  EXPECT_EQ(run_finals(arrivals_of(pool), replicate_of_round).winner->schedule, "1");
}

}  // namespace
}  // namespace tf::replay
