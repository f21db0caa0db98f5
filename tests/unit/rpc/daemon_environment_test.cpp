#include "rpc/daemon/daemon_environment.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tf::rpc {
namespace {

TEST(DaemonEnvironment, ADaemonMayHaveAsManyDescriptorsAsTheHardLimitAllows) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = before.rlim_max / 2, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(allow_descriptors(1), before.rlim_max);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace tf::rpc
