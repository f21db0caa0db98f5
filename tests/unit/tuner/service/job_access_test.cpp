#include "tuner/service/job_access.h"

namespace tf::service {
namespace {

using rpc::Role;

absl::Status change_of(const std::string& submitter, const std::optional<rpc::Identity>& caller) {
  return check_may_change(caller, {.id = 3, .submitter = submitter}, "cancel");
}

TEST(JobAccess, ATunerChangesItsOwnJobsAndThoseOfNobody) {
  const rpc::Identity bob{Role::kTuner, "bob"};
  EXPECT_TRUE(change_of("tuner bob", bob).ok());
  EXPECT_TRUE(change_of("", bob).ok());
  EXPECT_EQ(change_of("tuner ada", bob).message(),
            "tuner bob may not cancel job 3: it is tuner ada's; ask them, a device-owner or an admin");
}

TEST(JobAccess, AnAdminOfTheSameNameIsSomebodyElse) {
  EXPECT_FALSE(change_of("admin bob", rpc::Identity{Role::kTuner, "bob"}).ok());
}

TEST(JobAccess, WhoMayHelpOthersAndWhoIsOnThisMachineChangesAll) {
  EXPECT_TRUE(change_of("tuner ada", rpc::Identity{Role::kDeviceOwner, "dan"}).ok());
  EXPECT_TRUE(change_of("tuner ada", rpc::Identity{Role::kAdmin, "root"}).ok());
  EXPECT_TRUE(change_of("tuner ada", std::nullopt).ok());
}

}  // namespace
}  // namespace tf::service
