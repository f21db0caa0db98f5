#include "compiler/runtime/cpu_limit.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/files/temporary_folder.h"

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

// What is found in a system with these files.
double quota(const Files& files) {
  const tf::TemporaryFolder root = *tf::TemporaryFolder::make();
  for (const auto& [name, text] : files) {
    const std::filesystem::path path = root.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  return tf_cpu_quota(root.path().c_str());
}

constexpr char kGroups[] = "proc/self/cgroup";

TEST(CpuQuota, IsThatOfVersionTwo) {
  EXPECT_EQ(quota({{kGroups, "0::/a/b\n"}, {"sys/fs/cgroup/a/b/cpu.max", "150000 100000\n"}}), 1.5);
  EXPECT_EQ(quota({{kGroups, "0::/a/b\n"}, {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}}), 0);
  EXPECT_EQ(quota({{kGroups, "0::/\n"}, {"sys/fs/cgroup/cpu.max", "50000 200000\n"}}), 0.25);
}

TEST(CpuQuota, IsTheLeastOfTheGroupsAround) {
  EXPECT_EQ(quota({{kGroups, "0::/a/b\n"},
                   {"sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
                   {"sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
                   {"sys/fs/cgroup/cpu.max", "max 100000\n"}}),
            2);
}

TEST(CpuQuota, IsFoundWhereAContainerSeesItsOwnGroupAsTheMount) {
  EXPECT_EQ(quota({{kGroups, "0::/system/docker-12.scope\n"}, {"sys/fs/cgroup/cpu.max", "300000 100000"}}),
            3);
}

TEST(CpuQuota, IsThatOfVersionOne) {
  const auto in = [](const std::string& folder, const std::string& quota_us) -> Files {
    return {{kGroups, "12:cpuset:/a\n4:cpu,cpuacct:/a\n0::/\n"},
            {folder + "/cpu.cfs_quota_us", quota_us},
            {folder + "/cpu.cfs_period_us", "100000\n"}};
  };
  EXPECT_EQ(quota(in("sys/fs/cgroup/cpu,cpuacct/a", "250000\n")), 2.5);
  EXPECT_EQ(quota(in("sys/fs/cgroup/cpu/a", "250000\n")), 2.5);
  EXPECT_EQ(quota(in("sys/fs/cgroup/cpu", "250000\n")), 2.5);
  EXPECT_EQ(quota(in("sys/fs/cgroup/cpu/a", "-1\n")), 0);
  EXPECT_EQ(quota(in("sys/fs/cgroup/cpuset/a", "250000\n")), 0) << "of another controller";
}

TEST(CpuQuota, IsNoneWhereNothingSaysSo) {
  EXPECT_EQ(quota({}), 0);
  EXPECT_EQ(quota({{kGroups, "no groups"}}), 0);
  EXPECT_EQ(quota({{kGroups, "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "100000 0\n"}}), 0);
  EXPECT_EQ(quota({{kGroups, "0::/" + std::string(3000, 'a') + "\n"}}), 0);
}

TEST(UsableCpus, AreNoMoreThanTheProcessMayUse) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_GE(tf_usable_cpus(), 1);
  EXPECT_LE(tf_usable_cpus(), CPU_COUNT(&all));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(tf_usable_cpus(), 1);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
