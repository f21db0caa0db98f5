// A process that stands still for three lease times (SIGSTOP) comes back to a farm that has moved on.

#include <csignal>
#include <thread>

#include "tests/farm/farm_run.h"

namespace tf::farm_test {
namespace {

using testing::IsEmpty;

constexpr absl::Duration kPause = absl::Seconds(6);

class PauseTest : public testing::TestWithParam<Role> {};

TEST_P(PauseTest, ForThreeLeaseTimesCostsNoResult) {
  FarmRun run;
  ASSERT_TRUE(run.begin_job(200, 20));
  run.process(GetParam()).signal(SIGSTOP);
  std::this_thread::sleep_for(absl::ToChronoSeconds(kPause));
  run.process(GetParam()).signal(SIGCONT);
  EXPECT_FALSE(run.has_ended(GetParam()));
  EXPECT_TRUE(run.process(Role::kTuner).exited_within(30000)) << "the tuner did not go on by itself";
  EXPECT_TRUE(run.finish_job(absl::Seconds(30)));
  const bool agent = GetParam() == Role::kAgent;
  EXPECT_THAT(run.problems({.agent_stopped = agent ? kPause : absl::ZeroDuration()}), IsEmpty());
  if (!HasFailure()) return;
  for (const std::string& line : lines_of(run.output())) std::fprintf(stderr, "  %s\n", line.c_str());
}

INSTANTIATE_TEST_SUITE_P(, PauseTest, testing::ValuesIn(kRoles),
                         [](const auto& role) { return "Of" + role_name(role.param); });

}  // namespace
}  // namespace tf::farm_test
