#include <map>

#include "tests/unit/tracker/farm_fixture.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class FarmSharingTest : public FarmTest {};

TEST_F(FarmSharingTest, CordonedDeviceKeepsItsLeaseAndGetsNoOther) {
  attach("a");
  const Lease granted = lease();
  ASSERT_TRUE(farm_->set_admission("a", Admission::kCordoned).ok());
  EXPECT_TRUE(farm_->renew(granted.id, granted.epoch).ok());
  farm_->release(granted.id, granted.epoch);
  EXPECT_TRUE(absl::IsUnavailable(acquire("box")->grant->status()));
  open();  // remembered
  attach("a");
  EXPECT_TRUE(absl::IsUnavailable(acquire("box")->grant->status()));
  ASSERT_TRUE(farm_->set_admission("a", Admission::kOpen).ok());
  EXPECT_TRUE(acquire("box")->grant->ok());
  EXPECT_TRUE(absl::IsNotFound(farm_->set_admission("nobody", Admission::kOpen)));
}

TEST_F(FarmSharingTest, DrainingDeviceDoesNotRenewItsLease) {
  attach("a");
  const Lease granted = lease();
  ASSERT_TRUE(farm_->set_admission("a", Admission::kDraining).ok());
  const absl::Status refused = farm_->renew(granted.id, granted.epoch).status();
  EXPECT_TRUE(absl::IsAborted(refused)) << refused;
  EXPECT_TRUE(farm_->open_stream(granted.id, granted.epoch, std::make_shared<FakeLink>()).ok())
      << "until its term ends, the lease goes on";
  clock_.advance(absl::Seconds(60));
  farm_->tick();
  EXPECT_TRUE(absl::IsUnavailable(acquire("box")->grant->status()));
}

TEST_F(FarmSharingTest, ReservedDeviceGoesToItsUserOnlyAndIsFreedInTime) {
  attach("a");
  const Lease other = lease();
  const absl::Time now = absl::Now();
  const auto made = farm_->reserve({.user = "alice",
                                    .device_key = "box",
                                    .selector = {},
                                    .from = now - absl::Seconds(1),
                                    .until = now + absl::Minutes(10)});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->devices, 1u);
  EXPECT_TRUE(made->in_force);
  EXPECT_TRUE(absl::IsAborted(farm_->renew(other.id, other.epoch).status()));
  farm_->release(other.id, other.epoch);
  const absl::Status refused = acquire("box", absl::ZeroDuration(), "bob")->grant->status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("0 busy, 1 reserved for others, 0 cordoned or draining"));
  const auto waiting = acquire("box", absl::Minutes(10), "bob:1", "r1");
  const auto alice = acquire("box", absl::ZeroDuration(), "alice:42");
  ASSERT_TRUE(alice->grant->ok()) << alice->grant->status();
  farm_->release((**alice->grant).lease.id, (**alice->grant).lease.epoch);
  EXPECT_FALSE(waiting->grant);
  open();  // remembered
  attach("a");
  EXPECT_EQ(devices_of(*farm_)[0].reserved_for, "alice");
  const auto again = acquire("box", absl::Minutes(10), "bob:1", "r1");
  ASSERT_TRUE(farm_->tick());
  clock_.advance(*farm_->tick() - clock_.now());
  while (!again->grant && clock_.now() < absl::Seconds(1000) + absl::Minutes(11)) {
    farm_->tick();
    clock_.advance(absl::Seconds(1));
  }
  ASSERT_TRUE(again->grant && again->grant->ok()) << "the window is over";
  EXPECT_THAT(farm_->reservations(), IsEmpty());
}

// Two persons whose jobs one tuner service runs.
TEST_F(FarmSharingTest, ReservationHoldsForThePersonOnWhoseBehalfATunerAsks) {
  attach("a");
  const absl::Time now = absl::Now();
  ASSERT_TRUE(farm_
                  ->reserve({.user = "alice",
                             .device_key = "box",
                             .selector = {},
                             .from = now - absl::Seconds(1),
                             .until = now + absl::Minutes(10)})
                  .ok());
  const auto bob = acquire({.key = "box", .holder = "lab:1", .holder_run = "r", .user = "bob"});
  EXPECT_TRUE(absl::IsUnavailable(bob->grant->status())) << bob->grant->status();
  const auto lab = acquire({.key = "box", .holder = "lab:1", .holder_run = "r"});
  EXPECT_TRUE(absl::IsUnavailable(lab->grant->status())) << "the tuner itself is another user";
  const auto alice = acquire({.key = "box", .holder = "lab:1", .holder_run = "r", .user = "alice"});
  ASSERT_TRUE(alice->grant->ok()) << alice->grant->status();
  EXPECT_EQ((**alice->grant).lease.user, "alice");
  EXPECT_EQ(devices_of(*farm_)[0].slots[0].lease->holder, "lab:1");
}

TEST_F(FarmSharingTest, QuotaAndShareArePersonsThoughOneTunerHoldsTheLeases) {
  options_.policies.users["bob"] = {.max_slots = 1};
  open();
  for (const char* id : {"a", "b", "c"}) attach(id);
  const auto ask = [&](const std::string& user) {
    return acquire({.key = "box", .holder = "lab:1", .holder_run = "r", .user = user});
  };
  ASSERT_TRUE(ask("bob")->grant->ok());
  const auto second = ask("bob");
  EXPECT_TRUE(absl::IsUnavailable(second->grant->status())) << second->grant->status();
  ASSERT_TRUE(ask("alice")->grant->ok()) << "bob's quota is not hers";
  std::map<std::string, uint32_t> held;
  for (const UserStatus& user : farm_->users()) held[user.user] = user.slots;
  EXPECT_EQ(held["alice"], 1u);
  EXPECT_EQ(held["bob"], 1u);
  EXPECT_EQ(held["lab"], 0u);
  open();  // remembered
  for (const UserStatus& user : farm_->users()) held[user.user] = user.slots;
  EXPECT_EQ(held["bob"], 1u);
}

TEST_F(FarmSharingTest, LeaseIsForItsHolderAndNotForThePersonOnWhoseBehalfItIsHeld) {
  attach("a");
  const auto alice = acquire({.key = "box", .holder = "lab:1", .holder_run = "r", .user = "alice"});
  ASSERT_TRUE(alice->grant->ok()) << alice->grant->status();
  const Lease& lease = (**alice->grant).lease;
  EXPECT_TRUE(farm_->check_member(lease.id, lease.epoch, "lab").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(farm_->check_member(lease.id, lease.epoch, "alice")));
}

TEST_F(FarmSharingTest, NewRunOfAHolderEndsTheRequestsOfItsOldRunForEveryPerson) {
  attach("a");
  const auto held = acquire({.key = "box", .holder = "lab:1", .holder_run = "r1", .user = "alice"});
  ASSERT_TRUE(held->grant->ok());
  const auto waiting = acquire({.key = "box",
                                .wait = absl::Minutes(1),
                                .holder = "lab:1",
                                .holder_run = "r1",
                                .run_number = 1,
                                .user = "bob"});
  EXPECT_FALSE(waiting->grant);
  const auto next =
      acquire({.key = "box", .holder = "lab:1", .holder_run = "r2", .run_number = 2, .user = "carol"});
  ASSERT_TRUE(waiting->grant);
  EXPECT_TRUE(absl::IsAborted(waiting->grant->status())) << waiting->grant->status();
  EXPECT_TRUE(next->grant->ok()) << next->grant->status();
}

TEST_F(FarmSharingTest, UnreservedDeviceIsForEverybodyAgain) {
  attach("a");
  const absl::Time now = absl::Now();
  const auto made = farm_->reserve(
      {.user = "alice", .device_key = "", .selector = {}, .from = now, .until = now + absl::Minutes(10)});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto bob = acquire("box", absl::Minutes(1), "bob");
  EXPECT_FALSE(bob->grant);
  ASSERT_TRUE(farm_->unreserve(made->reservation.id).ok());
  EXPECT_TRUE(bob->grant && bob->grant->ok());
  EXPECT_TRUE(absl::IsNotFound(farm_->unreserve(made->reservation.id)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      farm_->reserve({.user = "a", .device_key = "", .selector = {}, .from = now, .until = now}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(farm_
                                          ->reserve({.user = "a",
                                                     .device_key = "",
                                                     .selector = {},
                                                     .from = now,
                                                     .until = now + absl::Hours(24 * 366 + 1)})
                                          .status()));
}

TEST_F(FarmSharingTest, ReservationsAreNoMoreAndNoLongerThanListingsCarry) {
  options_.most_reservations = 2;
  open();
  const absl::Time now = absl::Now();
  const auto reserve = [&](const std::string& user, const std::string& key = "",
                           const std::string& selector = "") {
    return farm_
        ->reserve({.user = user,
                   .device_key = key,
                   .selector = *Selector::parse(selector),
                   .from = now,
                   .until = now + absl::Hours(1)})
        .status();
  };
  std::string long_selector = "a";
  for (int i = 0; i < 2000; ++i) long_selector += ",label" + std::to_string(10'000 + i);
  EXPECT_TRUE(absl::IsInvalidArgument(reserve("")));
  EXPECT_TRUE(absl::IsInvalidArgument(reserve(std::string(201, 'u'))));
  EXPECT_TRUE(absl::IsInvalidArgument(reserve("alice\nbob")));
  EXPECT_TRUE(absl::IsInvalidArgument(reserve("alice", std::string(129, 'k'))));
  EXPECT_TRUE(absl::IsInvalidArgument(reserve("alice", "", long_selector)));
  EXPECT_THAT(store_->load()->reservations, IsEmpty());
  EXPECT_TRUE(reserve(std::string(200, 'u'), std::string(128, 'k'), "room=lab3").ok());
  EXPECT_TRUE(reserve("alice").ok());
  const absl::Status one_more = reserve("alice");
  EXPECT_TRUE(absl::IsResourceExhausted(one_more)) << one_more;
  EXPECT_THAT(std::string(one_more.message()), HasSubstr("tracker unreserve"));
  ASSERT_TRUE(farm_->unreserve(1).ok());
  EXPECT_TRUE(reserve("bob").ok());
}

TEST_F(FarmSharingTest, StoredReservationThatNoListingCouldCarryIsLeftOut) {
  const absl::Time now = absl::Now();
  const auto stored = [&](uint64_t id, const std::string& user) {
    return StoredReservation{
        .id = id, .user = user, .device_key = "", .selector = "", .from = now, .until = now + absl::Hours(1)};
  };
  ASSERT_TRUE(
      store_->save({.reservations = {{1, stored(1, std::string(5 << 20, 'u'))}, {2, stored(2, "alice")}}})
          .ok());
  open();
  ASSERT_EQ(farm_->reservations().size(), 1u);
  EXPECT_EQ(farm_->reservations()[0].reservation.user, "alice");
}

TEST_F(FarmSharingTest, LongHolderMakesRoomForARequestAndIsServedAgainAfterIt) {
  attach("a");
  const Lease first = lease();
  for (int i = 0; i < 9; ++i) {
    clock_.advance(absl::Seconds(30));
    EXPECT_TRUE(farm_->renew(first.id, first.epoch).ok()) << "nobody waits";
  }
  const auto requester = acquire("box", absl::Minutes(10), "other");
  EXPECT_TRUE(farm_->renew(first.id, first.epoch).ok()) << "within its slice";
  clock_.advance(absl::Seconds(31));
  const absl::Status refused = farm_->renew(first.id, first.epoch).status();
  EXPECT_TRUE(absl::IsAborted(refused)) << refused;
  EXPECT_FALSE(requester->grant) << "the lease goes on until its term ends";
  const auto again = acquire("box", absl::Minutes(10), "h");
  farm_->release(first.id, first.epoch);
  ASSERT_TRUE(requester->grant && requester->grant->ok());
  const Lease second = (**requester->grant).lease;
  farm_->release(second.id, second.epoch);
  EXPECT_TRUE(again->grant && again->grant->ok());
}

TEST_F(FarmSharingTest, QuotasLimitWhatAUserHoldsAndHowManyOfItsRequestsWait) {
  options_.policies.users["alice"] = {.max_slots = 1, .max_waiting = 1};
  open();
  attach("a");
  attach("b");
  const auto first = acquire("box", absl::Minutes(1), "alice:1");
  ASSERT_TRUE(first->grant->ok());
  const auto second = acquire("box", absl::Minutes(1), "alice:2");
  EXPECT_FALSE(second->grant) << "though a slot is free";
  const auto third = acquire("box", absl::Minutes(1), "alice:3");
  EXPECT_TRUE(absl::IsResourceExhausted(third->grant->status())) << third->grant->status();
  EXPECT_TRUE(acquire("box", absl::Minutes(1), "bob")->grant->ok());
  farm_->release((**first->grant).lease.id, (**first->grant).lease.epoch);
  EXPECT_TRUE(second->grant && second->grant->ok());
}

class RevokedHolderTest : public FarmTest {
 protected:
  std::shared_ptr<FakeRequester> ask(const std::string& certificate,
                                     absl::Duration wait = absl::ZeroDuration()) {
    return acquire(
        {.key = "box", .wait = wait, .holder = "ada:1", .holder_run = "r", .certificate = certificate});
  }
};

TEST_F(RevokedHolderTest, LosesAtOnceWhatItHoldsUnderThatCertificateAndNothingElse) {
  attach("a");
  attach("b");
  const Lease first = (**ask("old")->grant).lease;
  const Lease second = (**ask("other")->grant).lease;
  const auto link = std::make_shared<FakeLink>();
  ASSERT_TRUE(farm_->open_stream(first.id, first.epoch, link).ok());
  farm_->set_revoked({"old", "unknown"});
  EXPECT_TRUE(absl::IsNotFound(link->closed)) << link->closed;
  EXPECT_THAT(std::string(link->closed.message()), HasSubstr("its holder's certificate was revoked"));
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(first.id, first.epoch).status()));
  EXPECT_TRUE(farm_->renew(second.id, second.epoch, "other").ok());
  const Lease next = (**ask("new")->grant).lease;
  EXPECT_EQ(next.slot.device_id, first.slot.device_id);
  EXPECT_GT(next.epoch, first.epoch);
}

TEST_F(RevokedHolderTest, KeepsWhatItHasRenewedByANewerCertificate) {
  attach("a");
  const Lease held = (**ask("old")->grant).lease;
  ASSERT_TRUE(farm_->renew(held.id, held.epoch, "new").ok());
  farm_->set_revoked({"old"});
  EXPECT_TRUE(farm_->renew(held.id, held.epoch, "new").ok());
  farm_->set_revoked({"old", "new"});
  EXPECT_TRUE(absl::IsUnauthenticated(farm_->renew(held.id, held.epoch, "new").status()));
  EXPECT_TRUE(ask("another")->grant->ok()) << "the slot is free";
}

TEST_F(RevokedHolderTest, IsNotGrantedALeaseThatWasOnItsWayToTheDisk) {
  attach("a");
  farm_->on_unsaved([] {});
  const auto first = ask("old");
  farm_->set_revoked({"old"});
  ASSERT_TRUE(farm_->save().ok());
  ASSERT_TRUE(first->grant);
  EXPECT_TRUE(absl::IsUnauthenticated(first->grant->status())) << first->grant->status();
  EXPECT_THAT(std::string(first->grant->status().message()), HasSubstr("old is revoked: join again"));
}

TEST_F(RevokedHolderTest, RenewsNothingOfWhichARestartHasForgottenWhoseItIs) {
  attach("a");
  const Lease held = (**ask("old")->grant).lease;
  open();
  attach("a");
  farm_->set_revoked({"old"});
  EXPECT_TRUE(absl::IsUnauthenticated(farm_->renew(held.id, held.epoch, "old").status()));
  clock_.advance(absl::Seconds(60));
  farm_->tick();
  EXPECT_TRUE(ask("new")->grant->ok());
}

class RunsOfAHolderTest : public FarmTest {
 protected:
  std::shared_ptr<FakeRequester> ask(const std::string& run, uint64_t number,
                                     absl::Duration wait = absl::Minutes(5)) {
    return acquire({.key = "box", .wait = wait, .holder = "tuner", .holder_run = run, .run_number = number});
  }
};

TEST_F(RunsOfAHolderTest, NewerRunEndsTheLeasesAndTheRequestsOfTheOlder) {
  attach("a");
  const auto held = ask("second life", 2);
  ASSERT_TRUE(held->grant && held->grant->ok());
  const auto waits = ask("second life", 2);
  ASSERT_FALSE(waits->grant);
  const auto next = ask("third life", 3);
  ASSERT_TRUE(next->grant && next->grant->ok());
  EXPECT_EQ((**next->grant).lease.epoch, 2u);
  EXPECT_TRUE(absl::IsAborted(waits->grant->status())) << waits->grant->status();
}

TEST_F(RunsOfAHolderTest, OlderRunGetsNothingAndEndsNothing) {
  attach("a");
  attach("b");
  const auto held = ask("third life", 3);
  ASSERT_TRUE(held->grant && held->grant->ok());
  const Lease lease = (**held->grant).lease;
  const auto late = ask("second life", 2);
  ASSERT_TRUE(late->grant);
  EXPECT_TRUE(absl::IsAborted(late->grant->status())) << late->grant->status();
  open();  // remembered
  attach("a");
  EXPECT_TRUE(absl::IsAborted(ask("second life", 2)->grant->status()));
  EXPECT_TRUE(farm_->renew(lease.id, lease.epoch).ok());
}

TEST_F(RunsOfAHolderTest, OlderRunGetsNothingAlsoWhereTheNewerOneOnlyWaits) {
  attach("a");
  ASSERT_TRUE(acquire("box", absl::Minutes(5), "another")->grant->ok());
  const auto waits = ask("third life", 3);
  EXPECT_TRUE(absl::IsAborted(ask("second life", 2)->grant->status()));
  EXPECT_FALSE(waits->grant);
}

TEST_F(RunsOfAHolderTest, LeaseOnItsWayToTheDiskIsNotGrantedToARunThatIsOver) {
  attach("a");
  farm_->on_unsaved([] {});
  const auto first = ask("second life", 2);
  const auto second = ask("third life", 3);
  ASSERT_TRUE(farm_->save().ok());
  ASSERT_TRUE(first->grant && second->grant);
  EXPECT_TRUE(absl::IsAborted(first->grant->status())) << first->grant->status();
  EXPECT_TRUE(second->grant->ok()) << second->grant->status();
}

TEST_F(RunsOfAHolderTest, LeaseOnItsWayToTheDiskIsNotTakenFromTheNewerRunByALateRequestOfTheOlder) {
  attach("a");
  farm_->on_unsaved([] {});
  const auto newer = ask("third life", 3);
  const auto late = ask("second life", 2);
  ASSERT_TRUE(late->grant);
  EXPECT_TRUE(absl::IsAborted(late->grant->status())) << late->grant->status();
  ASSERT_TRUE(farm_->save().ok());
  ASSERT_TRUE(newer->grant);
  EXPECT_TRUE(newer->grant->ok()) << newer->grant->status();
}

TEST_F(FarmSharingTest, RequirementsAreMatchedAgainstTheDevice) {
  const DeviceInfo device{
      .id = "a", .arch = "x86_64", .cpu_features = {"avx2", "fma"}, .memory_bytes = 4ull << 30};
  const SlotOffer slot{0, 2, 0};
  EXPECT_EQ(unmet_requirement(device, slot, {.arch = "x86_64", .cpu_features = {"avx2"}, .min_threads = 2}),
            "");
  EXPECT_THAT(unmet_requirement(device, slot, {.arch = "aarch64"}), HasSubstr("arch aarch64"));
  EXPECT_THAT(unmet_requirement(device, slot, {.cpu_features = {"avx512f"}}), HasSubstr("avx512f"));
  EXPECT_THAT(unmet_requirement(device, slot, {.min_threads = 3}), HasSubstr("3 threads"));
  EXPECT_THAT(unmet_requirement(device, slot, {.min_memory_bytes = 8ull << 30}), HasSubstr("8192 MiB"));
}

TEST_F(FarmSharingTest, LabelsCapabilitiesAndGpusAreMatchedAgainstTheDevice) {
  const DeviceInfo device{.id = "a",
                          .capabilities = {"seccomp"},
                          .gpus = {{"cuda", 8ull << 30}, {"opencl", 1ull << 30}},
                          .labels = {{"room", "lab3"}}};
  const SlotOffer slot{0, 2, 0};
  EXPECT_EQ(unmet_requirement(device, slot,
                              {.selector = *Selector::parse("room=lab3,!shared"),
                               .capabilities = {"seccomp"},
                               .gpu = "cuda",
                               .min_gpu_memory_bytes = 8ull << 30}),
            "");
  EXPECT_THAT(unmet_requirement(device, slot, {.selector = *Selector::parse("room=lab4")}),
              HasSubstr("labels with room=lab4"));
  EXPECT_THAT(unmet_requirement(device, slot, {.capabilities = {"landlock"}}), HasSubstr("landlock"));
  EXPECT_THAT(unmet_requirement(device, slot, {.gpu = "hip"}), HasSubstr("a GPU for hip"));
  EXPECT_THAT(unmet_requirement(device, slot, {.gpu = "opencl", .min_gpu_memory_bytes = 2ull << 30}),
              HasSubstr("2048 MiB (it has 1024 MiB)"));
}

}  // namespace
}  // namespace tf::tracker
