#include "rpc/usage_ledger.h"
#include "tests/support/fake_clock.h"
#include "tuner/service/sharing/slot_shares.h"

namespace tf::service {
namespace {

class TurnTest : public testing::Test {
 protected:
  void ran(const std::string& submitter, absl::Duration time) {
    running_.begin(submitter);
    clock_.advance(time);
    running_.end(submitter);
  }
  Turn turn(int64_t job, const std::string& submitter, int priority = 0) const {
    return turn_of(job, priority, running_.cost(submitter));
  }

  rpc::FakeClock clock_;
  rpc::UsageLedger running_{clock_, absl::Hours(1)};
};

TEST_F(TurnTest, OfStrangersTheFirstSubmittedIsFirst) {
  EXPECT_LT(turn(1, "ada"), turn(2, "bob"));
  EXPECT_LT(turn(1, "bob"), turn(2, "ada"));
}

TEST_F(TurnTest, WhoHasRecentlyHadLessIsFirst) {
  ran("ada", absl::Minutes(10));
  ran("bob", absl::Minutes(5));
  EXPECT_LT(turn(2, "bob"), turn(1, "ada"));
  EXPECT_LT(turn(3, "cyd"), turn(2, "bob"));
}

TEST_F(TurnTest, PriorityGoesBeforeWhatAnybodyHad) {
  ran("ada", absl::Minutes(10));
  EXPECT_LT(turn(2, "ada", 1), turn(1, "bob"));
  EXPECT_LT(turn(1, "bob"), turn(2, "ada", 0));
}

TEST_F(TurnTest, WhoseJobRunsMakesWayAtOnce) {
  running_.begin("ada");
  EXPECT_LT(turn(2, "bob"), turn(1, "ada"));
}

TEST_F(TurnTest, WhatWasLongAgoDoesNotCount) {
  ran("ada", absl::Minutes(10));
  clock_.advance(absl::Hours(20));
  EXPECT_LT(turn(1, "ada"), turn(2, "bob"));
}

}  // namespace
}  // namespace tf::service
