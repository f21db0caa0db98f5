// The wall clock of tracker, agent and tuner is set forward and back under them: nothing is lost, and no
// lease ends for it.

#include <set>
#include <thread>

#include "tests/farm/farm_run.h"
#include "tests/farm/stored_candidates.h"
#include "tests/support/moved_clock/moved_clock.h"

namespace tf::farm_test {
namespace {

using testing::IsEmpty;

// Whose clock is set; none: everybody's at once.
class ClockJumpTest : public testing::TestWithParam<std::optional<Role>> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer wants to be what is loaded first";
#endif
  }

  FarmRunOptions options() const {
    FarmRunOptions options{.trial_ms = 20};
    for (const Role role : kRoles)
      if (!GetParam() || *GetParam() == role) options.prefix[static_cast<size_t>(role)] = clock_.prefix();
    return options;
  }

  test::MovedClock clock_;
};

TEST_P(ClockJumpTest, CostsNoResultAndNoLease) {
  FarmRun run(options());
  ASSERT_TRUE(run.begin_job(400, 30));
  for (const absl::Duration ahead :
       {absl::Hours(1), -absl::Hours(1), absl::Hours(24 * 365), absl::ZeroDuration()}) {
    clock_.set(ahead);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  }
  EXPECT_TRUE(run.process(Role::kTuner).exited_within(30000)) << "the tuner did not go on by itself";
  EXPECT_EQ(run.process(Role::kTuner).wait(), 0);
  for (const Role role : {Role::kTracker, Role::kAgent}) EXPECT_FALSE(run.has_ended(role));
  EXPECT_THAT(run.problems(), IsEmpty());
  std::set<std::string> leases;
  const absl::StatusOr<std::vector<StoredRow>> rows = stored_rows(run.seen_database());
  ASSERT_TRUE(rows.ok()) << rows.status();
  for (const StoredRow& row : *rows) leases.insert(row.lease);
  EXPECT_EQ(leases.size(), 1u) << "one lease is enough for the job, whatever time it has";
  if (!HasFailure()) return;
  for (const std::string& line : lines_of(run.output())) std::fprintf(stderr, "  %s\n", line.c_str());
}

// While it is a year later than it was, everything is made anew.
TEST_P(ClockJumpTest, BetweenTwoStartsOfTheSameProcessesCostsNoResult) {
  FarmRun run(options());
  ASSERT_TRUE(run.begin_job(100, 30));
  for (const absl::Duration ahead : {absl::Hours(24 * 365), -absl::Hours(1)}) {
    clock_.set(ahead);
    for (const Role role : kRoles) run.start(role);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_TRUE(run.finish_job(absl::Seconds(60)));
  EXPECT_THAT(run.problems(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, ClockJumpTest,
                         testing::Values(std::optional(Role::kTracker), std::optional(Role::kAgent),
                                         std::optional(Role::kTuner), std::nullopt),
                         [](const auto& role) {
                           return "Of" + (role.param ? role_name(*role.param) : "Everybody");
                         });

}  // namespace
}  // namespace tf::farm_test
