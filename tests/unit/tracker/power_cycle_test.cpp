#include "tracker/power_cycle.h"

#include <chrono>
#include <fstream>
#include <thread>

#include "base/temporary_folder.h"

namespace tf::tracker {
namespace {

TEST(PowerCycleLimit, LetsEachDeviceThroughOnceInAnInterval) {
  rpc::FakeClock clock;
  PowerCycleLimit limit(clock, absl::Minutes(10));
  EXPECT_TRUE(limit.take("a"));
  EXPECT_TRUE(limit.take("b"));
  clock.advance(absl::Minutes(10) - absl::Nanoseconds(1));
  EXPECT_FALSE(limit.take("a"));
  clock.advance(absl::Nanoseconds(1));
  EXPECT_TRUE(limit.take("a"));
}

class PowerCyclerTest : public testing::Test {
 protected:
  // A command that notes its arguments in a file.
  std::vector<std::string> noting(const std::string& more = "true") {
    return {"/bin/sh", "-c", "echo \"$@\" >>" + path_ + "; " + more, "sh", "--cycle"};
  }

  std::string noted() {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void wait_until_noted(size_t bytes) {
    for (int i = 0; i < 1000 && noted().size() < bytes; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string path_ = dir_.path() + "/noted";
};

TEST_F(PowerCyclerTest, RunsTheCommandWithTheDevicesIdAsItsLastArgument) {
  PowerCycler cycler(rpc::real_clock(), {.command = noting()});
  cycler.request("a1", "quarantined");
  cycler.request("a1", "again, too early");
  cycler.request("--all", "would be an option");
  cycler.request("b2", "quarantined");
  wait_until_noted(22);
  EXPECT_EQ(noted(), "--cycle a1\n--cycle b2\n");
}

TEST_F(PowerCyclerTest, KillsACommandThatDoesNotEndTogetherWithItsChildren) {
  PowerCycler cycler(rpc::real_clock(),
                     {.command = noting("sleep 1000"), .timeout = absl::Milliseconds(100)});
  cycler.request("a1", "quarantined");
  cycler.request("b2", "quarantined");
  wait_until_noted(22);
  EXPECT_EQ(noted(), "--cycle a1\n--cycle b2\n") << "the second runs once the first is killed";
}

TEST_F(PowerCyclerTest, CommandThatDoesNotExistIsLoggedAndTheNextOneRuns) {
  PowerCycler cycler(rpc::real_clock(), {.command = {"/nonexistent/power"}});
  cycler.request("a1", "quarantined");
}

}  // namespace
}  // namespace tf::tracker
