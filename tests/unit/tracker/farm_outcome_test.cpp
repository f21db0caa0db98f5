// What Farm believes of trials that it has not seen.

#include "base/digest.h"
#include "tests/unit/tracker/farm_fixture.h"

namespace tf::tracker {
namespace {

class FarmOutcomeTest : public FarmTest {
 protected:
  // How a trial of this candidate ended under the lease, as the agent says.
  void tell(Farm::SessionId session, const Lease& under, const std::string& candidate,
            TrialEnd end = TrialEnd::kCrashed) {
    farm_->report_outcomes(
        session, {{under.id, {.candidate = candidate, .end = end, .run_timeout = absl::Seconds(1)}}});
  }

  void fails_on(const std::string& device, const std::string& candidate) {
    const auto session = attach_listening(device, device);
    tell(session, lease(device), candidate);
  }

  // Whether a trial of it would be answered without being run.
  bool is_bad(const std::string& candidate) {
    attach("judge", "judge");
    const Lease granted = lease("judge");
    const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
    farm_->submit(*stream, 1, "trial", {.candidate = candidate, .run_timeout = absl::Seconds(1)});
    const bool answered = !farm_->take_replies(*stream).empty();
    farm_->release(granted.id, granted.epoch);
    return answered;
  }

  const std::string candidate_ = sha256("candidate").hex();
};

TEST_F(FarmOutcomeTest, OfTwoBoardsThatMeasureItBlocksACandidate) {
  for (const char* id : {"a", "b"}) fails_on(id, candidate_);
  EXPECT_TRUE(is_bad(candidate_));
  EXPECT_TRUE(absl::IsNotFound(farm_->pardon(sha256("another").hex())));
  ASSERT_TRUE(farm_->pardon(candidate_).ok());
  EXPECT_FALSE(is_bad(candidate_));
}

class FarmDirectTest : public FarmOutcomeTest {
 protected:
  // Of the first device's first slot: unanswered, unacknowledged, answered.
  std::vector<uint64_t> shown() {
    const SlotStatus slot = devices_of(*farm_)[0].slots[0];
    return {slot.unanswered, slot.unacknowledged, slot.answered};
  }

  static DirectWork told(const Lease& of, uint64_t number, uint64_t queued, uint64_t unacknowledged,
                         uint64_t acknowledged) {
    return {.slot = of.slot,
            .lease = of.id,
            .epoch = of.epoch,
            .queued = queued,
            .unacknowledged = unacknowledged,
            .acknowledged = acknowledged,
            .number = number};
  }
};

TEST_F(FarmDirectTest, ShowsWhatGoesStraightBesideWhatComesThrough) {
  const auto a = attach_listening("a", "a");
  const Lease granted = lease("a");
  EXPECT_THAT(shown(), testing::ElementsAre(0, 0, 0));
  farm_->report_direct(a, {told(granted, 1, 3, 1, 5)});
  EXPECT_THAT(shown(), testing::ElementsAre(3, 1, 6));
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 1, "t");
  EXPECT_THAT(shown(), testing::ElementsAre(4, 1, 6));
  farm_->report_direct(a, {told(granted, 2, 0, 0, 6)});
  farm_->report(a, {reply(granted, 1)}, false);
  EXPECT_THAT(shown(), testing::ElementsAre(0, 1, 7));
}

TEST_F(FarmDirectTest, ReportThatWasOvertakenSaysNothing) {
  const auto a = attach_listening("a", "a");
  const Lease granted = lease("a");
  farm_->report_direct(a, {told(granted, 2, 0, 1, 7)});
  farm_->report_direct(a, {told(granted, 1, 1, 1, 6)});
  EXPECT_THAT(shown(), testing::ElementsAre(0, 1, 8));
  farm_->report_direct(a, {told(granted, 3, 0, 0, 8)});
  EXPECT_THAT(shown(), testing::ElementsAre(0, 0, 8)) << "each answer counts once";
  const auto again = attach_listening("a", "a");
  farm_->report_direct(again, {told(granted, 3, 9, 9, 9)});
  EXPECT_THAT(shown(), testing::ElementsAre(0, 0, 8)) << "the same run goes on counting its reports";
  farm_->report_direct(again, {told(granted, 4, 1, 0, 8)});
  EXPECT_THAT(shown(), testing::ElementsAre(1, 0, 8));
}

TEST_F(FarmDirectTest, AgentThatWasStartedAgainHasNothingQueuedAndCountsAnew) {
  const auto a = attach_listening("a", "a", "first run");
  const Lease granted = lease("a");
  farm_->report_direct(a, {told(granted, 9, 3, 1, 5)});
  farm_->detach(a);
  const auto again = attach_listening("a", "a", "second run");
  EXPECT_THAT(shown(), testing::ElementsAre(0, 0, 5));
  // Its holder goes on through the tracker.
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  farm_->submit(*stream, 6, "t");
  farm_->report(again, {reply(granted, 6)}, false);
  EXPECT_THAT(shown(), testing::ElementsAre(0, 1, 6));
  farm_->report_direct(again, {told(granted, 1, 0, 0, 2)});
  EXPECT_THAT(shown(), testing::ElementsAre(0, 1, 8)) << "the run that goes straight again counts from 0";
}

TEST_F(FarmOutcomeTest, ShowsNothingThatAnAgentSaysOfAnothersSlot) {
  const auto a = attach_listening("a", "a");
  const auto b = attach_listening("b", "b");
  const auto c = attach("c", "c");
  const Lease of_a = lease("a"), of_c = lease("c");
  const auto say = [&](Farm::SessionId session, const std::string& device, const Lease& of, uint64_t epoch) {
    farm_->report_direct(
        session,
        {{.slot = {device, 0}, .lease = of.id, .epoch = epoch, .queued = 9, .acknowledged = 9, .number = 1}});
  };
  say(b, "b", of_a, of_a.epoch);
  say(b, "a", of_a, of_a.epoch);
  say(a, "a", of_a, of_a.epoch + 1);
  say(c, "c", of_c, of_c.epoch);
  for (const DeviceStatus& device : devices_of(*farm_)) {
    EXPECT_EQ(device.slots[0].unanswered, 0u) << device.info->id;
    EXPECT_EQ(device.slots[0].answered, 0u) << device.info->id;
  }
}

TEST_F(FarmOutcomeTest, CountsOnlyUnderALeaseOfThatVeryDevice) {
  const auto a = attach_listening("a", "a");
  const auto b = attach_listening("b", "b");
  const Lease of_a = lease("a");
  tell(a, of_a, candidate_);
  tell(b, of_a, candidate_);
  tell(b, Lease{.id = {"no lease"}, .slot = {"b", 0}}, candidate_);
  Lease over = lease("b");
  farm_->release(over.id, over.epoch);
  tell(b, over, candidate_);
  EXPECT_FALSE(is_bad(candidate_));
  const auto relayed = attach("c", "c");
  tell(relayed, lease("c"), candidate_);
  EXPECT_FALSE(is_bad(candidate_)) << "an agent that does not listen has no such trials";
}

TEST_F(FarmOutcomeTest, CountsAsTheLeasesUsers) {
  options_.health.quarantine_after = 2;
  open();
  const auto a = attach_listening("a", "a");
  const auto b = attach_listening("b", "b");
  const Lease of_a = lease("a");
  const Lease of_b = lease("b");
  tell(a, of_a, sha256("1").hex(), TrialEnd::kTimedOut);
  for (int i = 2; i < 9; ++i) tell(b, of_b, sha256(std::to_string(i)).hex(), TrialEnd::kTimedOut);
  EXPECT_EQ(devices_of(*farm_)[1].health, Health::kHealthy) << "whose candidates failed on the other, too";
}

TEST_F(FarmOutcomeTest, OfOneBoardUnderTwoNamesBlocksNothing) {
  for (const char* id : {"box/a", "box/b"}) fails_on(id, candidate_);
  EXPECT_FALSE(is_bad(candidate_));
}

TEST_F(FarmOutcomeTest, OfWhatIsNoDigestIsNotKept) {
  for (const char* id : {"a", "b"}) fails_on(id, std::string(1 << 20, 'x'));
  EXPECT_FALSE(is_bad(std::string(1 << 20, 'x')));
}

TEST_F(FarmOutcomeTest, OfOneLeaseSoManyFailuresAreBelievedAndNoMore) {
  options_.health.quarantine_after = 0;  // which would end the lease
  open();
  const auto a = attach_listening("a", "a");
  const auto b = attach_listening("b", "b");
  const Lease of_a = lease("a");
  const Lease of_b = lease("b");
  for (uint32_t i = 0; i < Farm::kMostFailuresTold; ++i)
    tell(a, of_a, sha256(std::to_string(i)).hex(), TrialEnd::kTimedOut);
  tell(a, of_a, candidate_, TrialEnd::kMeasured);
  tell(a, of_a, candidate_);
  tell(b, of_b, candidate_);
  EXPECT_FALSE(is_bad(candidate_));
}

}  // namespace
}  // namespace tf::tracker
