#include "device_agent/agent/slots/slot_state.h"

#include <gmock/gmock.h>

#include "tests/support/fake_clock.h"

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
    for (const UnsentReply& reply : slot_.take_unsent(Route::kRelay)) result.push_back(reply.sequence);
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

TEST_F(SlotStateTest, RunsAsManyAtOnceAsItIsToldButNeverOfTwoLeases) {
  SlotState slot(
      clock_, {}, [](const LeaseRef&) { return absl::OkStatus(); }, /*most_running=*/2);
  ASSERT_TRUE(slot.apply(desired(lease_, {1, 2, 3})).ok());
  const auto first = slot.start(), second = slot.start();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(slot.start()) << "two run";
  slot.finish(*second, "r2");
  const auto third = slot.start();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->trial.sequence, 3u);
  slot.requeue(*third);
  EXPECT_EQ(slot.start()->trial.sequence, 3u);
  ASSERT_TRUE(slot.apply(desired({"newer", 7}, {1, 2})).ok());
  EXPECT_TRUE(slot.running_is_over());
  EXPECT_FALSE(slot.start()) << "two of the lease before still run";
  slot.finish(*first, "r1");
  EXPECT_FALSE(slot.start()) << "one of them still runs";
  slot.finish(*third, "r3");
  EXPECT_EQ(slot.take_unsent(Route::kRelay).size(), 0u) << "nobody waits for them";
  EXPECT_EQ(slot.start()->trial.sequence, 1u);
  EXPECT_EQ(slot.start()->trial.sequence, 2u);
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

TEST_F(SlotStateTest, WhatRunsIsOverWithItsLeaseAndWithItsTerm) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  EXPECT_FALSE(slot_.running_is_over());
  EXPECT_EQ(slot_.expires_at(), clock_.now() + absl::Seconds(10));
  const auto first = slot_.start();
  EXPECT_FALSE(slot_.running_is_over());
  clock_.advance(absl::Seconds(9));
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());  // renewed
  clock_.advance(absl::Seconds(9));
  EXPECT_FALSE(slot_.running_is_over());
  clock_.advance(absl::Seconds(1));
  EXPECT_TRUE(slot_.running_is_over());
  slot_.requeue(*first);  // ended
  EXPECT_FALSE(slot_.running_is_over());
  EXPECT_FALSE(slot_.start());
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());  // renewed after all: it is run again
  const auto again = slot_.start();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->trial.sequence, 1u);
  ASSERT_TRUE(slot_.apply(desired({"next", 7}, {1})).ok());
  EXPECT_TRUE(slot_.running_is_over()) << "the trial that runs is another than the next lease's first";
  slot_.requeue(*again);
  EXPECT_EQ(slot_.start()->lease.epoch, 7u);
  EXPECT_FALSE(slot_.running_is_over());
  ASSERT_TRUE(slot_.apply({}).ok());
  EXPECT_TRUE(slot_.running_is_over());
  EXPECT_EQ(slot_.expires_at(), std::nullopt);
}

class DirectSlotTest : public SlotStateTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(slot_.apply(desired(lease_, {})).ok());
    ASSERT_TRUE(slot_.open_direct(lease_).ok());
  }

  std::vector<uint64_t> unsent_direct() {
    std::vector<uint64_t> result;
    for (const UnsentReply& reply : slot_.take_unsent(Route::kDirect)) result.push_back(reply.sequence);
    return result;
  }

  // Runs the next trial to its end; its sequence.
  uint64_t run_next() {
    const auto started = slot_.start();
    if (!started) return 0;
    slot_.finish(*started, "r");
    return started->trial.sequence;
  }
};

TEST_F(SlotStateTest, OnlyTheLeaseThatTheTrackerToldOfIsServedDirectly) {
  EXPECT_TRUE(absl::IsUnavailable(slot_.open_direct(lease_))) << "the tracker has not told of it yet";
  EXPECT_TRUE(absl::IsUnavailable(slot_.open_direct({"old", 5}))) << "nor whether this one goes on";
  EXPECT_TRUE(absl::IsFailedPrecondition(slot_.open_direct({"older", 4})));
  ASSERT_TRUE(slot_.apply(desired(lease_, {})).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(slot_.open_direct({"other", 6})));
  EXPECT_TRUE(slot_.open_direct(lease_).ok());
}

TEST_F(DirectSlotTest, RunsWhatTheHolderSubmitsAndTellsItAlone) {
  slot_.submit(lease_, {1, "t1"});
  EXPECT_EQ(run_next(), 1u);
  EXPECT_THAT(unsent(), IsEmpty());
  EXPECT_THAT(unsent_direct(), ElementsAre(1));
  slot_.acknowledge(lease_, {1});
  EXPECT_FALSE(slot_.has_unacknowledged());
}

TEST_F(DirectSlotTest, RenewalByTheTrackerLeavesTheQueueAlone) {
  slot_.submit(lease_, {1, "t1"});
  clock_.advance(absl::Seconds(9));
  ASSERT_TRUE(slot_.apply(desired(lease_, {})).ok());
  clock_.advance(absl::Seconds(9));
  EXPECT_EQ(run_next(), 1u);
}

TEST_F(DirectSlotTest, ATrialThatComesAgainThroughTheTrackerIsNotRunTwice) {
  for (const uint64_t sequence : {1, 2, 3}) slot_.submit(lease_, {sequence, "t"});
  EXPECT_EQ(run_next(), 1u);
  EXPECT_THAT(unsent_direct(), ElementsAre(1));  // written to a stream that is broken
  const auto running = slot_.start();
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2, 3})).ok());  // the holder has changed its way
  EXPECT_EQ(slot_.route(), Route::kRelay);
  slot_.finish(*running, "r");
  EXPECT_THAT(unsent(), ElementsAre(1, 2));
  EXPECT_EQ(run_next(), 3u);
  EXPECT_EQ(run_next(), 0u);
}

TEST_F(DirectSlotTest, EndOfTheStreamSendsWhatIsUnacknowledgedToTheTracker) {
  slot_.submit(lease_, {1, "t1"});
  EXPECT_EQ(run_next(), 1u);
  EXPECT_THAT(unsent_direct(), ElementsAre(1));
  slot_.close_direct(lease_);
  EXPECT_THAT(unsent(), ElementsAre(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(slot_.open_direct(lease_))) << "one way, until the lease ends";
}

TEST_F(DirectSlotTest, CountsWhatGoesStraightAndOnlyThat) {
  const auto work = [this] {
    const DirectWork now = slot_.direct_work().value_or(DirectWork{});
    return std::vector<uint64_t>{now.queued, now.unacknowledged, now.acknowledged};
  };
  EXPECT_THAT(work(), ElementsAre(0, 0, 0));
  for (const uint64_t sequence : {1, 2, 3, 4}) slot_.submit(lease_, {sequence, "t"});
  EXPECT_THAT(work(), ElementsAre(4, 0, 0));
  EXPECT_EQ(run_next(), 1u);
  EXPECT_EQ(run_next(), 2u);
  const auto running = slot_.start();
  EXPECT_THAT(work(), ElementsAre(2, 2, 0)) << "one runs";
  slot_.acknowledge(lease_, {1, 1, 7});
  EXPECT_THAT(work(), ElementsAre(2, 1, 1));
  slot_.close_direct(lease_);
  EXPECT_THAT(work(), ElementsAre(0, 0, 1)) << "the rest goes through the tracker, which counts it";
  slot_.finish(*running, "r");
  ASSERT_TRUE(slot_.apply(desired(lease_, {4}, {2, 3})).ok());
  EXPECT_THAT(work(), ElementsAre(0, 0, 1));
  ASSERT_TRUE(slot_.apply(desired({"next", 7}, {})).ok());
  EXPECT_EQ(slot_.direct_work(), std::nullopt) << "nobody has come straight under this one";
}

TEST_F(DirectSlotTest, EndOfTheLeaseDropsWhatTheHolderSubmitted) {
  slot_.submit(lease_, {1, "t1"});
  ASSERT_TRUE(slot_.apply({}).ok());
  slot_.submit(lease_, {2, "t2"});
  EXPECT_EQ(run_next(), 0u);
  ASSERT_TRUE(slot_.apply(desired({"next", 7}, {})).ok());
  slot_.submit(lease_, {3, "of the lease before"});
  EXPECT_EQ(run_next(), 0u);
  EXPECT_TRUE(slot_.open_direct({"next", 7}).ok()) << "a new lease, a new choice";
}

TEST_F(DirectSlotTest, StopsReadingAtTheLimitOfTrialsAndStartingAtThatOfReplies) {
  uint64_t sequence = 0;
  while (slot_.takes_trials()) slot_.submit(lease_, {++sequence, "t"});
  EXPECT_EQ(sequence, 256u);
  while (run_next() != 0) {
  }
  EXPECT_FALSE(slot_.takes_replies());
  while (slot_.takes_trials()) slot_.submit(lease_, {++sequence, std::string(1 << 20, 't')});
  EXPECT_EQ(sequence, 256u + 8);
  EXPECT_EQ(run_next(), 0u);
  slot_.acknowledge(lease_, {1});
  EXPECT_EQ(run_next(), 257u);
}

TEST_F(SlotStateTest, RequeuedTrialRunsNext) {
  ASSERT_TRUE(slot_.apply(desired(lease_, {1, 2})).ok());
  slot_.requeue(*slot_.start());
  EXPECT_EQ(slot_.start()->trial.sequence, 1u);
}

}  // namespace
}  // namespace tf::agent
