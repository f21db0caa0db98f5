#include "tests/bench/search/replay/finale.h"

#include <gtest/gtest.h>

#include "compiler/schedule/schedule.h"
#include "tests/bench/search/replay/sampling_policy.h"

namespace tf::replay {
namespace {

// Entries whose visits' samples, of so many microseconds each, are all alike.
Pool pool_of(const std::vector<std::vector<int64_t>>& visits_us) {
  Pool pool;
  for (size_t i = 0; i < visits_us.size(); ++i) {
    for (const int64_t us : visits_us[i]) {
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

std::optional<Visit> later_visit(const Entry& entry, size_t round) {
  return round + 1 < entry.visits.size() ? std::optional(entry.visits[round + 1]) : std::nullopt;
}

TEST(Finale, IsWonByWhoIsFasterInItsTrialsWhateverTheRaceShowed) {
  const Pool pool = pool_of({{1000, 1200, 1200, 1200}, {1005, 1000, 1000, 1000}, {3000, 10, 10, 10}});
  const Finale finale = play_off(arrivals_of(pool), later_visit);
  EXPECT_EQ(finale.winner->schedule, "1") << "the third was no finalist";
  EXPECT_GT(finale.device_seconds, 2 * 2 * kOverheadSeconds) << "two rounds of two, at least";
}

TEST(Finale, OfOneWhoIsClearlyTheBestCostsNothing) {
  const Pool pool = pool_of({{1000, 1000, 1000}, {2000, 500, 500}});
  const Finale finale = play_off(arrivals_of(pool), later_visit);
  EXPECT_EQ(finale.winner->schedule, "0");
  EXPECT_EQ(finale.device_seconds, 0);
}

TEST(Finale, GoesByTheRaceWhereNobodyWasVisitedAgain) {
  const Pool pool = pool_of({{1005}, {1000}, {1003}});
  const Finale finale = play_off(arrivals_of(pool), later_visit);
  EXPECT_EQ(finale.winner->schedule, "1");
  EXPECT_EQ(finale.device_seconds, 0);
}

TEST(Finale, EndsWithTheLastRoundForWhichAllHaveAVisit) {
  const Pool pool = pool_of({{1000, 1100, 10}, {1000, 1000}});
  EXPECT_EQ(play_off(arrivals_of(pool), later_visit).winner->schedule, "1");
}

}  // namespace
}  // namespace tf::replay
