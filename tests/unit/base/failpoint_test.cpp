#include "base/testing/failpoint.h"

#include <csignal>

namespace tf {
namespace {

using testing::HasSubstr;

class FailpointTest : public testing::Test {
 protected:
  void TearDown() override { failpoint_detail::armed = false; }
};

TEST_F(FailpointTest, PlacesAreQuietUntilTheyAreArmed) {
  EXPECT_TRUE(failpoint("a").ok());
}

TEST_F(FailpointTest, FailsTheNthTimeOnly) {
  ASSERT_TRUE(arm_failpoints("a:2:error").ok());
  EXPECT_TRUE(failpoint("a").ok());
  EXPECT_TRUE(failpoint("b").ok());
  const absl::Status failed = failpoint("a");
  EXPECT_TRUE(absl::IsInternal(failed));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("lets a fail"));
  EXPECT_TRUE(failpoint("a").ok());
}

TEST_F(FailpointTest, FailsFromTheNthTimeOn) {
  ASSERT_TRUE(arm_failpoints("a:2+:error").ok());
  EXPECT_TRUE(failpoint("a").ok());
  EXPECT_FALSE(failpoint("a").ok());
  EXPECT_FALSE(failpoint("a").ok());
}

TEST_F(FailpointTest, AStarCountsAllPlaces) {
  ASSERT_TRUE(arm_failpoints("*:3:error,b:1:delay=1").ok());
  EXPECT_TRUE(failpoint("a").ok());
  EXPECT_TRUE(failpoint("b").ok());
  EXPECT_FALSE(failpoint("c").ok());
}

TEST_F(FailpointTest, KillsItsProcess) {
  EXPECT_EXIT(
      {
        arm_failpoints("a:1:kill").IgnoreError();
        killpoint("a");
      },
      testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailpointTest, AMistakeIsNamed) {
  for (const char* spec :
       {"", "a", "a:b:kill", "a:0:kill", "a:1:explode", "a:1:delay=x", ":1:kill", "a:1:kill,"}) {
    const absl::Status status = arm_failpoints(spec);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << spec;
    EXPECT_THAT(std::string(status.message()), HasSubstr("NAME:NTH:ACTION"));
  }
  EXPECT_TRUE(failpoint("a").ok());
}

}  // namespace
}  // namespace tf
