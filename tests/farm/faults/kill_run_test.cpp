// Every numbered failpoint kills its process once, in recovery too, and then some moments at random; the
// history of the job is checked as a whole.

#include "tests/farm/kill_run.h"

namespace tf::farm_test {
namespace {

using testing::Contains;
using testing::IsEmpty;

TEST(KillRun, JobsOutliveADeathAtEveryFailpoint) {
  const std::map<Role, std::vector<std::string>> failpoints = find_failpoints();
  ASSERT_EQ(failpoints.size(), kRoles.size());
  EXPECT_THAT(failpoints.at(Role::kTracker), Contains("tracker.lease.committing"));
  EXPECT_THAT(failpoints.at(Role::kTracker), Contains("tracker.state.half_loaded"));
  EXPECT_THAT(failpoints.at(Role::kAgent), Contains("agent.lease.saved"));
  EXPECT_THAT(failpoints.at(Role::kTuner), Contains("database.group.committed"));
  std::map<Role, std::vector<Death>> deaths;
  for (const auto& [role, names] : failpoints)
    for (const std::string& name : names) deaths[role].push_back({.failpoint = name});
  const KillReport report = run_kills(deaths, absl::Seconds(90));
  EXPECT_THAT(report.problems, IsEmpty());
  // Where the others died too often for one to come to its failpoint, it gets a farm for itself.
  for (const auto& [role, names] : failpoints) {
    for (const std::string& name : names) {
      if (report.at.contains(name)) continue;
      std::map<Role, std::vector<Death>> only;
      only[role].push_back({.failpoint = name});
      const KillReport alone = run_kills(only, absl::Seconds(60), absl::Seconds(30));
      EXPECT_THAT(alone.problems, IsEmpty());
      EXPECT_TRUE(alone.at.contains(name)) << "no process has died at " << name;
    }
  }
}

TEST(KillRun, JobsOutliveDeathsAtRandomMoments) {
  const KillReport report =
      run_kills(random_deaths(find_failpoints(), 10, 20240607), absl::Seconds(60), absl::Seconds(1));
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_GE(report.kills, 10);
}

}  // namespace
}  // namespace tf::farm_test
