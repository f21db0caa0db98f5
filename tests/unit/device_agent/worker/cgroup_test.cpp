#include "device_agent/worker/cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace {

using tf::worker::Cgroup;
using tf::worker::Controller;
using tf::worker::find_hierarchy;
using tf::worker::group_maker;
using tf::worker::group_name;
using tf::worker::Hierarchy;

constexpr char kVersion2Mount[] =
    "29 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kBothMounts[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(FindHierarchy, OfVersion2HasAllControllersInOneFolder) {
  for (const Controller controller : {Controller::kPids, Controller::kMemory}) {
    const auto found =
        find_hierarchy(controller, "0::/user.slice/user-1000.slice/run-1.scope\n", kVersion2Mount);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->version, 2);
    EXPECT_EQ(found->folder, "/sys/fs/cgroup/user.slice/user-1000.slice/run-1.scope");
    EXPECT_EQ(found->top, "/sys/fs/cgroup");
  }
}

TEST(FindHierarchy, WhoHasMovedAsideMakesGroupsWhereItWas) {
  EXPECT_EQ(find_hierarchy(Controller::kPids, "0::/run-1.scope/tunefarm-main\n", kVersion2Mount)->folder,
            "/sys/fs/cgroup/run-1.scope");
}

TEST(FindHierarchy, AControllerOfVersion1GoesBeforeVersion2) {
  constexpr char kMembership[] = "9:name=systemd:/\n5:devices:/\n4:memory:/agents/a:b\n0::/\n";
  const auto memory = find_hierarchy(Controller::kMemory, kMembership, kBothMounts);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->version, 1);
  EXPECT_EQ(memory->folder, "/sys/fs/cgroup/memory/agents/a:b");
  const auto pids = find_hierarchy(Controller::kPids, kMembership, kBothMounts);
  ASSERT_TRUE(pids.ok());
  EXPECT_EQ(pids->version, 2);
  EXPECT_EQ(pids->folder, "/sys/fs/cgroup/unified");
}

TEST(FindHierarchy, ControllersOfVersion1MayShareAMount) {
  const auto found =
      find_hierarchy(Controller::kMemory, "3:cpuset,memory:/x\n",
                     "30 23 0:28 / /cgroup/both rw,relatime - cgroup cgroup rw,cpuset,memory\n");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->folder, "/cgroup/both/x");
}

TEST(FindHierarchy, AContainerSeesItsOwnPartOnly) {
  EXPECT_EQ(find_hierarchy(Controller::kPids, "4:pids:/docker/abc\n",
                           "35 31 0:32 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n")
                ->folder,
            "/sys/fs/cgroup/pids");
}

TEST(FindHierarchy, WhereNothingIsMountedThereIsNone) {
  EXPECT_EQ(find_hierarchy(Controller::kPids, "0::/\n", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(find_hierarchy(Controller::kPids, "", kBothMounts).status().code(), absl::StatusCode::kNotFound);
}

// Two agents in containers are both process 1, and may see the same groups.
TEST(GroupNames, AreNeitherSharedNorSweptByAWorkerOfAnotherPidNamespace) {
  EXPECT_NE(group_name(7, 1, 0xabc), group_name(7, 1, 0xabd));
  EXPECT_EQ(group_maker(group_name(7, 1, 0xabc), 7), 1);
  EXPECT_EQ(group_maker(group_name(7, 1, 0xabc), 8), 0);
  for (const char* name :
       {"", "tunefarm", "tunefarm-main", "tunefarm-1-1", "system-7-1-00000abc", "init.scope"})
    EXPECT_EQ(group_maker(name, 1), 0) << name;
}

std::string groups_of(pid_t pid) {
  std::stringstream text;
  text << std::ifstream("/proc/" + std::to_string(pid) + "/cgroup").rdbuf();
  return text.str();
}

TEST(ACgroup, HoldsAProcessAndTakesItAlong) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  {
    Cgroup group;
    const absl::Status bound = group.bound(Controller::kPids);
    if (!bound.ok()) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      GTEST_SKIP() << bound;
    }
    ASSERT_TRUE(group.add(pid).ok());
    group.limit_processes(3);
    EXPECT_THAT(groups_of(pid),
                testing::ContainsRegex("/tunefarm-[0-9]+-" + std::to_string(getpid()) + "-[0-9a-f]+"));
    group.kill_all();
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
}

}  // namespace
