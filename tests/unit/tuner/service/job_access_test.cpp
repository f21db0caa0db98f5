#include "tuner/service/jobs/job_access.h"

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
            "tuner bob may not cancel job 3: it is tuner ada's; ask that user, a device-owner or an admin");
}

TEST(JobAccess, AUserChangesOnlyTheirOwnJobs) {
  const rpc::Identity ada{Role::kUser, "ada"};
  EXPECT_TRUE(change_of("user ada", ada).ok());
  EXPECT_EQ(change_of("user bob", ada).message(),
            "user ada may not cancel job 3: it is user bob's; ask that user, a device-owner or an admin");
  EXPECT_FALSE(check_may_ask(ada, 1).ok());
}

TEST(JobAccess, TheTrackerAccountsForASubmitterByName) {
  EXPECT_EQ(person_of("user ada"), "ada");
  EXPECT_EQ(person_of("device-owner dan"), "dan");
  EXPECT_EQ(person_of("ada"), "ada") << "as a plain-text tuner notes it";
  EXPECT_EQ(person_of(""), "");
}

TEST(JobAccess, AnAdminOfTheSameNameIsSomebodyElse) {
  EXPECT_FALSE(change_of("admin bob", rpc::Identity{Role::kTuner, "bob"}).ok());
}

TEST(JobAccess, WhoMayHelpOthersAndWhoIsOnThisMachineChangesAll) {
  EXPECT_TRUE(change_of("tuner ada", rpc::Identity{Role::kDeviceOwner, "dan"}).ok());
  EXPECT_TRUE(change_of("tuner ada", rpc::Identity{Role::kAdmin, "root"}).ok());
  EXPECT_TRUE(change_of("tuner ada", std::nullopt).ok());
}

TEST(JobAccess, OnlyWhoMayHelpOthersGoesBeforeThem) {
  const rpc::Identity bob{Role::kTuner, "bob"};
  EXPECT_EQ(check_may_ask(bob, 1).message(),
            "tuner bob may not use the priority 1, which precedes other users' jobs: use 0 or less, or ask "
            "an admin to submit the job");
  EXPECT_TRUE(check_may_ask(bob, 0).ok());
  EXPECT_TRUE(check_may_ask(bob, -10).ok());
  EXPECT_TRUE(check_may_ask(rpc::Identity{Role::kAdmin, "root"}, 10).ok());
  EXPECT_TRUE(check_may_ask(std::nullopt, 10).ok()) << "plain text is on this machine only";
}

}  // namespace
}  // namespace tf::service
