#include "device_agent/agent/slot_state.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SlotStateTest : public testing::Test {
 protected:
  Desired desired(const LeaseRef& lease, std::vector<uint64_t> window,
                  std::vector<uint64_t> acknowledged = {}) {
    Desired result{.lease = lease,
                   .remaining = absl::Seconds(10),
                   .window = {},
                   .acknowledged = std::move(acknowledged)};
    for (const uint64_t sequence : window)
      result.window.push_back({sequence, "t" + std::to_string(sequence)});
    return result;
  }

  // Sequences that take_unsent() gives.
  std::vector<uint64_t> unsent() {
    std::vector<uint64_t> result;
    for (const UnsentReply& reply : slot_.take_unsent()) result.push_back(reply.sequence);
    return result;
  }

  rpc::FakeClock clock_;
  std::vector<LeaseRef> saved_;
  absl::Status save_status_;
  SlotState slot_{clock_, {"old", 5}, [this](const LeaseRef& lease) {
                    if (save_status_.ok()) saved_.push_back(lease);
                    return save_status_;
                  }};
  const LeaseRef lease_{"new", 6};
};

TEST_F(SlotStateTest, RunsTheWindowInOrderAndOneAtATime) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  const auto first = slot_.start();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->trial.trial, "t1");
  EXPECT_FALSE(slot_.start());
  slot_.finish(*first, "r1");
  EXPECT_EQ(slot_.start()->trial.sequence, 2u);
}

TEST_F(SlotStateTest, SavesALeaseBeforeItServesIt) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1})).ok());
  EXPECT_THAT(saved_, ElementsAre(lease_));
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  EXPECT_EQ(saved_.size(), 1u);
}

TEST_F(SlotStateTest, ServesNothingIfTheLeaseCannotBeSaved) {
  save_status_ = absl::ResourceExhaustedError("disk full");
  EXPECT_TRUE(absl::IsResourceExhausted(slot_.apply(desired(lease_, {1}))));
  EXPECT_FALSE(slot_.start());
  EXPECT_EQ(slot_.newest().epoch, 5u);
}

TEST_F(SlotStateTest, RefusesAnOlderEpochAndAnotherLeaseOfTheSameOne) {
  EXPECT_TRUE(absl::IsFailedPrecondition(slot_.apply(desired({"older", 4}, {1}))));
  EXPECT_TRUE(absl::IsFailedPrecondition(slot_.apply(desired({"other", 5}, {1}))));
  EXPECT_FALSE(slot_.start());
}

TEST_F(SlotStateTest, RefusalOfAStaleLeaseLeavesThePresentOneAlone) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1})).ok());
  EXPECT_FALSE(slot_.apply(desired({"old", 5}, {9})).ok());
  EXPECT_EQ(slot_.start()->trial.sequence, 1u);
}

TEST_F(SlotStateTest, GoesOnWithItsNewestLeaseAfterARestart) {
  ASSERT_TRUE(slot_.apply(desired({"old", 5}, {3})).ok());
  EXPECT_THAT(saved_, IsEmpty());
  EXPECT_EQ(slot_.start()->trial.sequence, 3u);
}

TEST_F(SlotStateTest, StartsNothingFromTheMomentItsTermIsOver) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1})).ok());
  clock_.advance(absl::Seconds(10));
  EXPECT_FALSE(slot_.start());
  ASSERT_TRUE(slot_.apply(desired(lease_, {1})).ok());  // renewed
  clock_.advance(absl::Seconds(10) - absl::Nanoseconds(1));
  EXPECT_TRUE(slot_.start());
}

TEST_F(SlotStateTest, TellsAReplyOnceASessionUntilItIsAcknowledged) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1})).ok());
  slot_.finish(*slot_.start(), "r1");
  EXPECT_THAT(unsent(), ElementsAre(1));
  EXPECT_THAT(unsent(), IsEmpty());
  slot_.rewind();
  EXPECT_THAT(unsent(), ElementsAre(1));
  ASSERT_TRUE(slot_.apply(desired(lease_, {}, {1})).ok());
  slot_.rewind();
  EXPECT_THAT(unsent(), IsEmpty());
  EXPECT_FALSE(slot_.has_unacknowledged());
}

TEST_F(SlotStateTest, NeverRunsATrialAgainThatRunsOrIsAnswered) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  const auto first = slot_.start();
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());  // sent before the tracker knew
  slot_.finish(*first, "r1");
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  EXPECT_EQ(slot_.start()->trial.sequence, 2u);
}

TEST_F(SlotStateTest, WithdrawnTrialsAreNotStarted) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  ASSERT_TRUE(slot_.apply(desired(lease_, {2})).ok());
  EXPECT_EQ(slot_.start()->trial.sequence, 2u);
}

TEST_F(SlotStateTest, EndOfALeaseDropsItsQueueItsRepliesAndWhatStillRuns) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2, 3})).ok());
  slot_.finish(*slot_.start(), "r1");
  const auto running = slot_.start();
  ASSERT_TRUE(slot_.apply({}).ok());
  EXPECT_FALSE(slot_.has_unacknowledged());
  slot_.finish(*running, "r2");
  EXPECT_FALSE(slot_.has_unacknowledged());
  EXPECT_FALSE(slot_.start());
}

TEST_F(SlotStateTest, ATrialOfTheNextLeaseWithTheRunningOnesSequenceIsAnotherTrial) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1})).ok());
  const auto running = slot_.start();
  ASSERT_TRUE(slot_.apply(desired({"next", 7}, {1})).ok());
  slot_.finish(*running, "reply of the old lease");
  EXPECT_THAT(unsent(), IsEmpty());
  const auto next = slot_.start();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->lease.epoch, 7u);
}

TEST_F(SlotStateTest, RequeuedTrialRunsNext) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  slot_.requeue(*slot_.start());
  EXPECT_EQ(slot_.start()->trial.sequence, 1u);
}

}  // namespace
}  // namespace tf::agent
