#include "tests/unit/tracker/farm_fixture.h"

namespace tf::tracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(FarmTest, CarriesATrialThereAndItsReplyBack) {
  const auto session = attach("a");
  farm_->take_desired(session);
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  ASSERT_TRUE(stream.ok());
  farm_->submit(*stream, 1, "t1");
  const auto desired = farm_->take_desired(session);
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_EQ(desired[0].lease->id, granted.id);
  EXPECT_EQ(desired[0].remaining, absl::Seconds(60));
  ASSERT_EQ(desired[0].window.size(), 1u);
  farm_->report(session, {reply(granted, 1)}, false);
  EXPECT_THAT(farm_->take_replies(*stream), ElementsAre("r1"));
  farm_->acknowledge(*stream, {1});
  EXPECT_THAT(farm_->take_desired(session)[0].acknowledged, ElementsAre(1));
  EXPECT_THAT(farm_->take_desired(session), IsEmpty());
}

TEST_F(FarmTest, AgentHearsOfItsAnswersOnlyWhatItCannotKnow) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) farm_->submit(*stream, sequence, "t");
  EXPECT_EQ(farm_->take_desired(session)[0].window.size(), 4u);
  farm_->report(session, {reply(granted, 1)}, false);
  EXPECT_EQ(farm_->take_desired(session)[0].window.back().sequence, 5u) << "one that was beyond its window";
  farm_->report(session, {reply(granted, 2)}, false);
  EXPECT_THAT(farm_->take_desired(session), IsEmpty()) << "it knows that it has answered";
  farm_->acknowledge(*stream, {2});
  EXPECT_THAT(farm_->take_desired(session)[0].acknowledged, ElementsAre(2));
  farm_->report(session, {reply(granted, 2)}, false);
  EXPECT_THAT(farm_->take_desired(session)[0].acknowledged, ElementsAre(2)) << "it has missed that";
}

TEST_F(FarmTest, TrialThatWasTooBigForTheWindowComesIntoItOnceThereIsRoom) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  for (const uint64_t sequence : {1, 2})
    farm_->submit(*stream, sequence, std::string(rpc::kWindowBytes, 't'));
  EXPECT_EQ(farm_->take_desired(session)[0].window.size(), 1u);
  farm_->report(session, {reply(granted, 1)}, false);
  const auto desired = farm_->take_desired(session);
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_EQ(desired[0].window.at(0).sequence, 2u);
}

TEST_F(FarmTest, SlotsOfWhichMuchIsSaidAreToldInTurnAndNotAllAtOnce) {
  const DeviceInfo info{.id = "a",
                        .key = "box",
                        .slots = {{0, 2, 0}, {1, 2, 0}, {2, 2, 0}, {3, 2, 0}},
                        .hello = hello_bytes("a", "box")};
  const auto session = *farm_->attach(info, "run", std::make_shared<FakeLink>());
  std::map<uint32_t, Farm::SessionId> streams;
  for (size_t i = 0; i < info.slots.size(); ++i) {
    const Lease granted = lease();
    const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
    farm_->submit(*stream, 1, std::string(size_t{1} << 19, 't'));
    streams[granted.slot.slot] = *stream;
  }
  const auto told = [&] {
    std::vector<uint32_t> slots;
    for (const DesiredSlot& desired : farm_->take_desired(session)) slots.push_back(desired.slot);
    return slots;
  };
  EXPECT_THAT(told(), ElementsAre(0, 1));
  farm_->submit(streams.at(0), 2, "t");
  EXPECT_THAT(told(), ElementsAre(2, 3)) << "whoever has more to say does not come before them";
  EXPECT_THAT(told(), ElementsAre(0));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(FarmTest, UnknownKeyNamesTheKnownOnes) {
  EXPECT_THAT(std::string(acquire("box")->grant->status().message()),
              HasSubstr("no device has registered yet"));
  attach("a", "pi");
  attach("b", "nuc");
  const auto requester = acquire("box");
  EXPECT_TRUE(absl::IsNotFound(requester->grant->status()));
  EXPECT_THAT(std::string(requester->grant->status().message()), HasSubstr("known keys: nuc, pi"));
}

TEST_F(FarmTest, KeysStayKnownAfterARestart) {
  attach("a", "pi");
  open();
  EXPECT_TRUE(absl::IsUnavailable(acquire("pi")->grant->status()));
  EXPECT_TRUE(absl::IsNotFound(acquire("box")->grant->status()));
}

TEST_F(FarmTest, RequestsAreServedInTurnAndRefusedAtTheirDeadline) {
  attach("a");
  const Lease first = lease();
  const auto second = acquire("box", absl::Seconds(10), "second");
  const auto third = acquire("box", absl::Seconds(10), "third");
  farm_->release(first.id, first.epoch);
  EXPECT_TRUE(second->grant && second->grant->ok());
  EXPECT_FALSE(third->grant);
  clock_.advance(absl::Seconds(10) - absl::Nanoseconds(1));
  farm_->tick();
  EXPECT_FALSE(third->grant);
  clock_.advance(absl::Nanoseconds(1));
  farm_->tick();
  EXPECT_TRUE(absl::IsUnavailable(third->grant->status()));
  EXPECT_THAT(std::string(third->grant->status().message()), HasSubstr("1 busy"));
}

TEST_F(FarmTest, CancelledRequestIsNeverAnswered) {
  attach("a");
  const Lease first = lease();
  const auto requester = acquire("box", absl::Seconds(10), "second");
  EXPECT_TRUE(farm_->cancel(requester.get()));
  farm_->release(first.id, first.epoch);
  EXPECT_FALSE(requester->grant);
  EXPECT_FALSE(farm_->cancel(requester.get()));
}

TEST_F(FarmTest, ExpiredLeaseClosesItsStreamAndTellsTheAgent) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  ASSERT_TRUE(farm_->open_stream(granted.id, granted.epoch, holder).ok());
  farm_->take_desired(session);
  clock_.advance(absl::Seconds(60));
  farm_->tick();
  EXPECT_TRUE(absl::IsNotFound(holder->closed));
  EXPECT_FALSE(farm_->take_desired(session)[0].lease);
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
}

TEST_F(FarmTest, RepliesOfAnEndedLeaseAreDropped) {
  const auto session = attach("a");
  const Lease old = lease();
  farm_->release(old.id, old.epoch);
  const Lease next = lease();
  EXPECT_GT(next.epoch, old.epoch);
  const auto stream = farm_->open_stream(next.id, next.epoch, std::make_shared<FakeLink>());
  Lease forged = next;
  forged.epoch = old.epoch;
  farm_->report(session, {reply(old, 1), reply(forged, 2)}, false);
  EXPECT_THAT(farm_->take_replies(*stream), IsEmpty());
}

TEST_F(FarmTest, LeaseAndEpochSurviveARestart) {
  attach("a");
  const Lease granted = lease();
  open();
  const auto session = attach("a");
  const auto desired = farm_->take_desired(session);
  ASSERT_TRUE(desired[0].lease);
  EXPECT_EQ(desired[0].lease->id, granted.id);
  EXPECT_EQ(desired[0].lease->epoch, granted.epoch);
  farm_->release(granted.id, granted.epoch);
  EXPECT_EQ(lease().epoch, granted.epoch + 1);
}

TEST_F(FarmTest, ReleasedLeaseStaysReleasedAfterARestartAndItsEpochIsNotUsedAgain) {
  attach("a");
  const Lease granted = lease();
  farm_->release(granted.id, granted.epoch);
  open();
  attach("a");
  EXPECT_EQ(lease().epoch, granted.epoch + 1);
}

TEST_F(FarmTest, RepliesThatComeBeforeTheHolderIsBackAreKeptForIt) {
  attach("a");
  const Lease granted = lease();
  open();
  farm_->report(attach("a"), {reply(granted, 4)}, false);
  const auto stream = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  ASSERT_TRUE(stream.ok());
  EXPECT_THAT(farm_->take_replies(*stream), ElementsAre("r4"));
}

TEST_F(FarmTest, GrantsAboveTheHighestEpochOfTheAgent) {
  attach("a", "box", "run", 17);
  EXPECT_EQ(lease().epoch, 18u);
}

TEST_F(FarmTest, NewerStreamOfALeaseReplacesTheOlder) {
  attach("a");
  const Lease granted = lease();
  const auto older = std::make_shared<FakeLink>();
  const auto first = farm_->open_stream(granted.id, granted.epoch, older);
  const auto second = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  EXPECT_TRUE(absl::IsAborted(older->closed));
  farm_->submit(*first, 1, "from the dead");
  farm_->close_stream(*first);
  farm_->submit(*second, 1, "t1");
  EXPECT_EQ(devices_of(*farm_)[0].slots[0].unanswered, 1u);
}

TEST_F(FarmTest, NewStreamOfALeaseHasEverythingToldAgain) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto first = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  for (const uint64_t sequence : {1, 2}) farm_->submit(*first, sequence, "t");
  farm_->report(session, {reply(granted, 1)}, false);
  farm_->take_desired(session);
  farm_->take_replies(*first);
  farm_->close_stream(*first);
  EXPECT_THAT(farm_->take_desired(session), IsEmpty());
  const auto second = farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>());
  EXPECT_THAT(farm_->take_replies(*second), ElementsAre("r1"));
  const auto desired = farm_->take_desired(session);
  ASSERT_EQ(desired.size(), 1u);
  ASSERT_EQ(desired[0].window.size(), 1u);
  EXPECT_EQ(desired[0].window[0].sequence, 2u);
}

TEST_F(FarmTest, NewerSessionOfAnAgentEndsTheOlder) {
  const auto first = attach("a", "box", "run 1");
  const auto old_link = link_;
  const auto second = attach("a", "box", "run 1");
  EXPECT_TRUE(absl::IsAborted(old_link->closed));
  EXPECT_TRUE(farm_->is_attached(second));
  farm_->detach(first);
  EXPECT_TRUE(devices_of(*farm_)[0].online);
  farm_->detach(second);
  EXPECT_FALSE(devices_of(*farm_)[0].online);
}

TEST_F(FarmTest, AgentIsToldOnlyOfSlotsThatItOffersNow) {
  Farm::SessionId session = 0;
  for (uint32_t slot = 0; slot < 10; ++slot) {
    const DeviceInfo info{
        .id = "a", .key = "box", .slots = {{slot, 2, 0}}, .hello = "hello " + std::to_string(slot)};
    session = *farm_->attach(info, "run", std::make_shared<FakeLink>());
  }
  const std::vector<DesiredSlot> desired = farm_->take_desired(session);
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_EQ(desired[0].slot, 9u);
}

TEST_F(FarmTest, AgentThatIsAwayTooLongLosesItsLease) {
  const auto session = attach("a");
  const Lease granted = lease();
  farm_->detach(session);
  clock_.advance(absl::Seconds(30) - absl::Nanoseconds(1));
  farm_->tick();
  EXPECT_TRUE(farm_->renew(granted.id, granted.epoch).ok());
  clock_.advance(absl::Nanoseconds(1));
  farm_->tick();
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
}

TEST_F(FarmTest, TickTellsWhenToComeAgain) {
  EXPECT_EQ(farm_->tick(), std::nullopt);
  const auto session = attach("a");
  lease();
  EXPECT_EQ(farm_->tick(), clock_.now() + absl::Seconds(60));
  farm_->detach(session);
  EXPECT_EQ(farm_->tick(), clock_.now() + absl::Seconds(30));
}

TEST_F(FarmTest, HolderThatStartsAgainDoesNotWaitForItself) {
  attach("a");
  ASSERT_TRUE(acquire("box", absl::ZeroDuration(), "tuner", "run 1")->grant->ok());
  const auto again = acquire("box", absl::ZeroDuration(), "tuner", "run 2");
  ASSERT_TRUE(again->grant->ok());
  EXPECT_EQ((**again->grant).lease.epoch, 2u);
}

TEST_F(FarmTest, OperatorEndsLeasesByIdBySlotAndByDevice) {
  attach("a");
  const Lease granted = lease();
  EXPECT_THAT(*farm_->force_release(granted.id.text), ElementsAre(granted.id));
  const Lease next = lease();
  EXPECT_THAT(*farm_->force_release("a/0"), ElementsAre(next.id));
  const Lease last = lease();
  EXPECT_THAT(*farm_->force_release("a"), ElementsAre(last.id));
  EXPECT_THAT(*farm_->force_release("a"), IsEmpty());
  EXPECT_THAT(*farm_->force_release("a/0"), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(farm_->force_release("a/1").status())) << "it has no such slot";
}

TEST_F(FarmTest, OperatorHearsWhatAWrongNameStandsFor) {
  attach("a");
  attach("b");
  const Lease over = lease();
  farm_->release(over.id, over.epoch);
  const auto message = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(message(farm_->force_release(over.id.text).status()),
            "no device, slot or active lease is called " + over.id.text + ": see `tracker devices`");
  EXPECT_THAT(message(farm_->force_release("box").status()),
              HasSubstr("that is the key of 2 devices, for example a; name the device"));
  EXPECT_EQ(message(farm_->set_admission("a/0", Admission::kDraining)),
            "no device is called a/0: that is a slot of the device a");
}

TEST_F(FarmTest, StoppingAgentHandsItsLeaseBack) {
  const auto session = attach("a");
  const Lease granted = lease();
  farm_->report(session, {}, true);
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
  EXPECT_TRUE(absl::IsUnavailable(acquire("box")->grant->status()));
}

TEST_F(FarmTest, WhoRenewsHearsThatTheDeviceIsAway) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto is_away = [&] { return farm_->renew(granted.id, granted.epoch).value().is_away; };
  EXPECT_FALSE(is_away());
  farm_->detach(session);
  EXPECT_TRUE(is_away());
  attach("a");
  EXPECT_FALSE(is_away());
}

TEST_F(FarmTest, DeviceThatComesBackUnderAnotherKeyLosesItsLease) {
  attach("a", "box");
  const Lease granted = lease();
  attach("a", "pi");
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
}

TEST_F(FarmTest, StreamIsNotReadWhileTooMuchIsUnanswered) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  uint64_t sequence = 0;
  while (farm_->submit(*stream, ++sequence, "t")) ASSERT_LT(sequence, 10000u);
  EXPECT_FALSE(farm_->has_room(*stream));
  const int wakes = holder->wakes;
  farm_->report(session, {reply(granted, 1)}, false);
  EXPECT_TRUE(farm_->has_room(*stream));
  EXPECT_GT(holder->wakes, wakes);
}

TEST_F(FarmTest, HolderThatOnlySendsTrialsAndReadsNothingHoldsLittleMemoryAndThenItsLeaseEnds) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  uint64_t sent = 0, most_unacknowledged = 0;
  while (holder->closed.ok()) {
    while (holder->closed.ok() && farm_->has_room(*stream))
      farm_->submit(*stream, ++sent, std::string(100, 't'));
    const auto status = devices_of(*farm_).front().slots.front();
    most_unacknowledged = std::max<uint64_t>(most_unacknowledged, status.unacknowledged);
    for (const DesiredSlot& desired : farm_->take_desired(session)) {
      for (const QueuedTrial& trial : desired.window)
        farm_->report(session, {reply(granted, trial.sequence)}, false);
    }
    ASSERT_LT(sent, 10000u);
  }
  EXPECT_LE(most_unacknowledged, 256u + 4);  // a window more
  EXPECT_LE(sent, 2 * (256u + 4));
  EXPECT_TRUE(absl::IsResourceExhausted(holder->closed)) << holder->closed;
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
}

TEST_F(FarmTest, HolderThatLeavesOutEverySecondSequenceIsEndedBeforeItTakesMuchMemory) {
  attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  for (uint64_t sequence = 2; holder->closed.ok(); sequence += 2) {
    farm_->submit(*stream, sequence, "t");
    farm_->acknowledge(*stream, {sequence});
    ASSERT_LT(sequence, 100'000u);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(holder->closed)) << holder->closed;
  EXPECT_THAT(std::string(holder->closed.message()), HasSubstr("number the trials of a lease without gaps"));
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
  EXPECT_GT(lease().epoch, granted.epoch) << "the slot is free again";
}

TEST_F(FarmTest, HolderThatAcknowledgesLateGetsAllItsAnswers) {
  const auto session = attach("a");
  const Lease granted = lease();
  const auto holder = std::make_shared<FakeLink>();
  const auto stream = farm_->open_stream(granted.id, granted.epoch, holder);
  for (uint64_t sequence = 1; sequence <= 256; ++sequence) farm_->submit(*stream, sequence, "t");
  for (bool more = true; more;) {
    more = false;
    for (const DesiredSlot& desired : farm_->take_desired(session)) {
      for (const QueuedTrial& trial : desired.window) {
        farm_->report(session, {reply(granted, trial.sequence)}, false);
        more = true;
      }
    }
  }
  EXPECT_EQ(farm_->take_replies(*stream).size(), 256u);
  EXPECT_TRUE(holder->closed.ok()) << holder->closed;
}

TEST_F(FarmTest, ReconnectionOfAKnownDeviceWritesNothing) {
  attach("a");
  const auto before = std::filesystem::file_size(path_ + "-wal");
  for (int i = 0; i < 10; ++i) farm_->detach(attach("a"));
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), before);
}

}  // namespace
}  // namespace tf::tracker
