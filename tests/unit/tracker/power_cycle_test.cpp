#include "tracker/health/power_cycle.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/support/fake_clock.h"

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

TEST(PowerCycleCommand, ProgramMustBeThereAndMayBeRun) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const std::string program = dir.file("power");
  EXPECT_TRUE(absl::IsFailedPrecondition(check_program(program, "")));
  ASSERT_TRUE(write_file(program, "#!/bin/sh\n").ok());
  const absl::Status refused = check_program(program, "");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << "nobody may run it";
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr(program));
  EXPECT_FALSE(check_program(dir.path(), "").ok()) << "a folder";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_TRUE(check_program(program, "").ok());
  EXPECT_TRUE(check_program("power", "/nonesuch:" + dir.path()).ok());
  EXPECT_FALSE(check_program("power", "/nonesuch").ok());
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

  // Whether the process has ended, also where nobody has asked how.
  static bool is_gone(pid_t pid) {
    for (int i = 0; i < 400; ++i) {
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string id, name, state;
      if (!(stat >> id >> name >> state) || state == "Z" || state == "X") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
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
  const std::string children = dir_.file("children");
  {
    PowerCycler cycler(rpc::real_clock(), {.command = noting("sleep 1000 & echo $! >>" + children + "; wait"),
                                           .timeout = absl::Milliseconds(100)});
    cycler.request("a1", "quarantined");
    cycler.request("b2", "quarantined");
    wait_until_noted(22);
    EXPECT_EQ(noted(), "--cycle a1\n--cycle b2\n") << "the second runs once the first is killed";
  }
  std::ifstream file(children);
  int looked_at = 0;
  for (pid_t child = 0; file >> child; ++looked_at)
    EXPECT_TRUE(is_gone(child)) << "process " << child << " outlives its command";
  EXPECT_GE(looked_at, 1);
}

TEST_F(PowerCyclerTest, KillsACommandThatHasClosedItsOutputAndDoesNotEnd) {
  const auto began = std::chrono::steady_clock::now();
  {
    PowerCycler cycler(rpc::real_clock(), {.command = noting("exec >/dev/null 2>&1; sleep 30"),
                                           .timeout = absl::Milliseconds(100)});
    cycler.request("a1", "quarantined");
    cycler.request("b2", "quarantined");
    wait_until_noted(22);
    EXPECT_EQ(noted(), "--cycle a1\n--cycle b2\n") << "the second runs once the first is killed";
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20))
      << "its end waited for the command";
}

TEST_F(PowerCyclerTest, CommandThatDoesNotExistIsLoggedAndTheNextOneRuns) {
  const std::string command = dir_.file("power");
  PowerCycler cycler(rpc::real_clock(), {.command = {command}});
  cycler.request("a1", "quarantined");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(write_file(command, "#!/bin/sh\necho \"$@\" >>" + path_ + "\n").ok());
  std::filesystem::permissions(command, std::filesystem::perms::owner_all);
  cycler.request("b2", "quarantined");
  wait_until_noted(3);
  EXPECT_THAT(noted(), testing::EndsWith("b2\n"));
}

}  // namespace
}  // namespace tf::tracker
