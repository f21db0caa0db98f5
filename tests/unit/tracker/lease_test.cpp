#include "tracker/leases/lease.h"

#include "tests/support/fake_clock.h"

namespace tf::tracker {
namespace {

Lease wanted(const std::string& id, const SlotKey& slot, const std::string& holder = "h",
             const std::string& run = "r") {
  return {.id = {id},
          .slot = slot,
          .holder = holder,
          .holder_run = run,
          .user = "user",
          .term = absl::Seconds(60)};
}

class LeaseTest : public testing::Test {
 protected:
  Lease grant(const std::string& id, const SlotKey& slot, const std::string& holder = "h",
              const std::string& run = "r") {
    const Lease lease = table_.propose(wanted(id, slot, holder, run));
    table_.commit(lease);
    return lease;
  }

  rpc::FakeClock clock_;
  LeaseTable table_{clock_};
  const SlotKey slot_{"device", 0};
};

TEST_F(LeaseTest, IsValidUntilJustBeforeItsTermAndNotAtIt) {
  const Lease lease = grant("a", slot_);
  clock_.advance(absl::Seconds(60) - absl::Nanoseconds(1));
  EXPECT_TRUE(table_.find(lease.id, lease.epoch).ok());
  EXPECT_TRUE(table_.expired().empty());
  clock_.advance(absl::Nanoseconds(1));
  EXPECT_TRUE(absl::IsNotFound(table_.find(lease.id, lease.epoch).status()));
  EXPECT_EQ(table_.expired().size(), 1u);
}

TEST_F(LeaseTest, RenewalStartsTheTermAgain) {
  const Lease lease = grant("a", slot_);
  clock_.advance(absl::Seconds(59));
  ASSERT_TRUE(table_.renew(lease.id, lease.epoch).ok());
  clock_.advance(absl::Seconds(59));
  EXPECT_TRUE(table_.find(lease.id, lease.epoch).ok());
  EXPECT_EQ(table_.next_expiry(), clock_.now() + absl::Seconds(1));
}

TEST_F(LeaseTest, RenewalAtTheBoundaryComesTooLate) {
  const Lease lease = grant("a", slot_);
  clock_.advance(absl::Seconds(60));
  EXPECT_TRUE(absl::IsNotFound(table_.renew(lease.id, lease.epoch).status()));
}

TEST_F(LeaseTest, AnotherEpochIsNotThisLease) {
  const Lease lease = grant("a", slot_);
  EXPECT_TRUE(absl::IsNotFound(table_.renew(lease.id, lease.epoch + 1).status()));
  EXPECT_TRUE(absl::IsNotFound(table_.find(lease.id, lease.epoch - 1).status()));
}

TEST_F(LeaseTest, EpochsOfASlotGrowAndSlotsDoNotShareThem) {
  EXPECT_EQ(grant("a", slot_).epoch, 1u);
  table_.end({"a"});
  EXPECT_EQ(grant("b", slot_).epoch, 2u);
  EXPECT_EQ(grant("c", {"device", 1}).epoch, 1u);
}

TEST_F(LeaseTest, SlotThatWasNeverLeasedIsNotRemembered) {
  for (uint32_t slot = 0; slot < 100; ++slot) table_.raise_epoch({"device", slot}, 0);
  EXPECT_EQ(table_.epochs(), 0u);
  table_.raise_epoch(slot_, 7);
  table_.raise_epoch(slot_, 0);
  EXPECT_EQ(table_.epochs(), 1u);
  EXPECT_EQ(table_.epoch(slot_), 7u);
}

TEST_F(LeaseTest, ProposalThatIsNotCommittedChangesNothing) {
  table_.propose(wanted("a", slot_));
  EXPECT_EQ(table_.epoch(slot_), 0u);
  EXPECT_EQ(table_.on(slot_), nullptr);
}

TEST_F(LeaseTest, RestoredLeaseGetsAFullTermAndKeepsItsEpoch) {
  const Lease lease = grant("a", slot_);
  clock_.advance(absl::Seconds(1000));
  LeaseTable after(clock_);
  after.restore(lease);
  EXPECT_TRUE(after.find(lease.id, lease.epoch).ok());
  EXPECT_EQ(after.next_expiry(), clock_.now() + absl::Seconds(60));
  after.end(lease.id);
  EXPECT_EQ(after.propose(wanted("b", slot_)).epoch, 2u);
}

TEST_F(LeaseTest, GrantsAboveWhatTheAgentHasServed) {
  table_.raise_epoch(slot_, 41);
  EXPECT_EQ(grant("a", slot_).epoch, 42u);
  table_.raise_epoch(slot_, 7);
  EXPECT_EQ(table_.epoch(slot_), 42u);
}

TEST_F(LeaseTest, EndIsIdempotent) {
  grant("a", slot_);
  EXPECT_TRUE(table_.end({"a"}).has_value());
  EXPECT_FALSE(table_.end({"a"}).has_value());
  EXPECT_EQ(table_.on(slot_), nullptr);
}

TEST_F(LeaseTest, KnowsTheLeasesOfAllRunsOfAHolder) {
  grant("a", {"device", 0}, "tuner", "run 1");
  grant("b", {"device", 1}, "tuner", "run 2");
  grant("c", {"device", 2}, "other", "run 1");
  ASSERT_EQ(table_.of_holder("tuner").size(), 2u);
  table_.end({"a"});
  ASSERT_EQ(table_.of_holder("tuner").size(), 1u);
  EXPECT_EQ(table_.of_holder("tuner")[0].id.text, "b");
  EXPECT_TRUE(table_.of_holder("nobody").empty());
}

TEST_F(LeaseTest, SecondLeaseOfALeasedSlotIsOurBug) {
  grant("a", slot_);
  EXPECT_DEATH(table_.propose(wanted("b", slot_)), "already leased");
}

}  // namespace
}  // namespace tf::tracker
