#include "tests/bench/search/replay/races.h"

#include <gtest/gtest.h>

#include "compiler/schedule/schedule.h"

namespace tf::replay {
namespace {

// Candidate i takes i + 1 milliseconds; every so many samples are twice that.
Pool staircase(int candidates, int late_every) {
  Pool pool;
  for (int i = 0; i < candidates; ++i) {
    database::Measurement record;
    record.schedule = std::to_string(i);
    record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
    for (int sample = 1; sample <= 60; ++sample)
      record.samples.push_back({.total_ns = (i + 1) * (sample % late_every == 0 ? 2'000'000 : 1'000'000)});
    pool.add(record);
  }
  return pool;
}

TEST(Races, AreWonByTheFastestWhereSamplesAreClear) {
  const std::vector<RaceOutcome> outcomes = run_races(staircase(50, 100), {.races = 20, .candidates = 10});
  ASSERT_EQ(outcomes.size(), 20u);
  for (const RaceOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.raced, 1);
    EXPECT_EQ(outcome.finals, 1);
  }
}

TEST(Races, AreHardlyEverLostToLateSamples) {
  int lost = 0;
  for (const RaceOutcome& outcome : run_races(staircase(50, 10), {.races = 200, .candidates = 20}))
    lost += outcome.finals > 1.01;
  EXPECT_LE(lost, 10);
}

TEST(Races, AreJudgedByTheShortestSample) {
  Pool pool;
  const auto add = [&](const char* schedule, int64_t few_ns, int64_t most_ns) {
    database::Measurement record;
    record.schedule = schedule;
    record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
    for (int sample = 0; sample < 12; ++sample)
      record.samples.push_back({.total_ns = sample % 3 == 0 ? few_ns : most_ns});
    pool.add(record);
  };
  add("steady", 1'050'000, 1'050'000);
  add("disturbed", 1'000'000, 1'060'000);
  for (const RaceOutcome& outcome : run_races(pool, {.races = 20, .candidates = 2}))
    EXPECT_EQ(outcome.finals, 1);
}

TEST(Races, AcrossVisitsAreOftenLostWhereProcessesDiffer) {
  Pool pool;
  for (const int64_t late : {1, 2}) {
    for (int i = 0; i < 40; ++i) {
      database::Measurement record;
      record.schedule = std::to_string(i);
      record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
      for (int sample = 0; sample < 12; ++sample)
        record.samples.push_back({.total_ns = (100 + i) * 10'000 * ((i + late) % 2 + 1)});
      pool.add(record);
    }
  }
  const auto lost = [&](bool across_replicates) {
    int count = 0;
    for (const RaceOutcome& outcome :
         run_races(pool, {.races = 200, .candidates = 8, .across_replicates = across_replicates}))
      count += outcome.finals > 1.01;
    return count;
  };
  EXPECT_EQ(lost(false), 0);
  EXPECT_GT(lost(true), 0);
}

TEST(Races, RepeatWithTheirSeed) {
  const Pool pool = staircase(40, 3);
  const RaceOptions options{.races = 10, .candidates = 8, .seed = 7};
  const std::vector<RaceOutcome> a = run_races(pool, options), b = run_races(pool, options);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].raced, b[i].raced);
}

TEST(Races, NeedTwoThatRan) {
  EXPECT_TRUE(run_races(staircase(1, 100), {}).empty());
}

}  // namespace
}  // namespace tf::replay
