// What Farm brings to the disk, when, and what becomes of it if that fails or the world changes meanwhile.

#include <functional>

#include "tests/support/faulty_disk/faulty_disk.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/farm_threads.h"
#include "tracker/leases/device_wire.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class FarmSavingTest : public FarmTest {
 protected:
  // From here on nothing is saved but by farm_->save().
  void save_by_hand() {
    farm_->on_unsaved([this] { ++wanted_; });
  }

  uintmax_t written_bytes() { return std::filesystem::file_size(path_ + "-wal"); }

  void go_bad(Farm::SessionId session) {
    for (int i = 0; i < 7; ++i) {
      clock_.advance(absl::Minutes(1));
      farm_->report_golden(
          session,
          {{.slot = 0, .kernel = "k", .time_ns = i < 5 ? 1'000'000 : 2'000'000, .taken_at = clock_.now()}});
    }
  }

  int wanted_ = 0;
};

TEST_F(FarmSavingTest, NothingIsWrittenUnderTheFarmsLock) {
  save_by_hand();
  const auto before = written_bytes();
  const auto session = attach("a");
  attach("b", "pi");
  go_bad(session);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
  EXPECT_EQ(written_bytes(), before);
  EXPECT_GT(wanted_, 0);
  ASSERT_TRUE(farm_->save().ok());
  EXPECT_GT(written_bytes(), before);
  open();
  ASSERT_EQ(devices_of(*farm_).size(), 2u);
  EXPECT_EQ(devices_of(*farm_)[0].health, Health::kQuarantined);
  EXPECT_EQ(devices_of(*farm_)[0].slots[0].golden.baseline().time_ns, 1e6);
}

TEST_F(FarmSavingTest, WhatComesUpTogetherIsOneTransaction) {
  attach("a");
  const auto one = [&](int devices) {
    const auto before = written_bytes();
    save_by_hand();
    for (int i = 0; i < devices; ++i) attach("d" + std::to_string(devices) + "." + std::to_string(i));
    EXPECT_TRUE(farm_->save().ok());
    return written_bytes() - before;
  };
  const auto of_one = one(1);
  EXPECT_LT(one(20), 4 * of_one) << "a transaction each would write its pages each";
}

TEST_F(FarmSavingTest, TransactionsAreCountedWithWhatTheyTook) {
  attach("a");
  const uint64_t before = farm_->counts().saving_time.count;
  lease();
  EXPECT_EQ(farm_->counts().saving_time.count, before + 1);
  ASSERT_TRUE(farm_->save().ok());
  EXPECT_EQ(farm_->counts().saving_time.count, before + 1) << "there was nothing to save";
}

TEST_F(FarmSavingTest, RestartOfAnAgentThatOffersTheSameWritesNothing) {
  DeviceInfo info = *device_from_bytes(hello_bytes("a", "box"));
  farm_->detach(*farm_->attach(info, "run 1", std::make_shared<FakeLink>()));
  const auto before = written_bytes();
  // AgentHello.direct_endpoint = 8, and facts = 5 with peak_gflops = 17 (fixed64).
  info.hello += std::string("\x42\x03h:1", 5) + std::string("\x2a\x0a\x89\x01\0\0\0\0\0\0\x59\x40", 12);
  farm_->detach(*farm_->attach(info, "run 2", std::make_shared<FakeLink>()));
  EXPECT_EQ(devices_of(*farm_)[0].info->hello, info.hello) << "what is new is known";
  EXPECT_EQ(written_bytes(), before);
  info.labels["room"] = "lab3";
  info.hello += std::string("\x4a\x0c\x0a\x04room\x12\x04lab3", 14);  // labels = 9
  farm_->detach(*farm_->attach(info, "run 3", std::make_shared<FakeLink>()));
  EXPECT_GT(written_bytes(), before);
}

TEST_F(FarmSavingTest, NoLeaseIsGrantedOnADeviceThatIsOfferedNoMoreWhenItHasBeenWritten) {
  Farm::SessionId session = 0;
  const absl::Time now = absl::Now();
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"stops", [&] { farm_->report(session, {}, true); }},
      {"goes", [&] { farm_->detach(session); }},
      {"goes bad", [&] { go_bad(session); }},
      {"comes back under another key", [&] { attach("a", "pi"); }},
      {"comes back with other labels",
       [&] {
         DeviceInfo info = *device_from_bytes(hello_bytes("a", "box"));
         info.labels["room"] = "lab4";
         info.hello += "\x42\x01x";
         EXPECT_TRUE(farm_->attach(info, "run", std::make_shared<FakeLink>()).ok());
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    remove_files();
    open();
    session = attach("a");
    save_by_hand();
    const auto requester = acquire({.key = "box",
                                    .requirements = {.selector = *Selector::parse("room!=lab4")},
                                    .wait = absl::Minutes(5),
                                    .holder = "h",
                                    .holder_run = "r"});
    ASSERT_FALSE(requester->grant) << "not before it is durable";
    change();
    ASSERT_TRUE(farm_->save().ok());
    ASSERT_TRUE(requester->grant);
    EXPECT_TRUE(absl::IsUnavailable(requester->grant->status())) << requester->grant->status();
    EXPECT_THAT(store_->load()->leases, IsEmpty()) << "and a restart does not find it";
  }
  // As an operator's calls do, which wait until that is written themselves.
  for (const bool reserve : {false, true}) {
    remove_files();
    open();
    attach("a");
    save_by_hand();
    const auto requester = acquire("box", absl::Minutes(5));
    farm_->on_unsaved([&] { farm_->save().IgnoreError(); });
    const absl::Status changed = reserve ? farm_
                                               ->reserve({.user = "alice",
                                                          .device_key = "",
                                                          .selector = {},
                                                          .from = now,
                                                          .until = now + absl::Minutes(10)})
                                               .status()
                                         : farm_->set_admission("a", Admission::kDraining);
    ASSERT_TRUE(changed.ok()) << changed;
    EXPECT_TRUE(absl::IsUnavailable(requester->grant->status())) << requester->grant->status();
  }
}

TEST_F(FarmSavingTest, EndThatCouldNotBeWrittenIsWrittenWithTheNextChange) {
  faulty_disk::mend_disk();
  open();
  attach("a");
  const Lease granted = lease();
  faulty_disk::fail_disk_at(1, faulty_disk::DiskFault::kGone);
  EXPECT_TRUE(absl::IsUnavailable(farm_->force_release("a").status()));
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status())) << "it has ended";
  EXPECT_FALSE(farm_->save().ok());
  faulty_disk::mend_disk();
  ASSERT_EQ(store_->load()->leases.size(), 1u);
  ASSERT_TRUE(farm_->save().ok());
  EXPECT_THAT(store_->load()->leases, IsEmpty());
  EXPECT_EQ(lease().epoch, granted.epoch + 1);
}

TEST_F(FarmSavingTest, DevicesThatCouldNotBeWrittenAreWrittenLater) {
  faulty_disk::mend_disk();
  open();
  faulty_disk::fail_disk_at(1, faulty_disk::DiskFault::kGone);
  attach("a");
  const absl::Status cordoned = farm_->set_admission("a", Admission::kCordoned);
  EXPECT_TRUE(absl::IsUnavailable(cordoned)) << cordoned;
  EXPECT_THAT(std::string(cordoned.message()), HasSubstr("a restart of the tracker will undo it"));
  EXPECT_EQ(devices_of(*farm_)[0].admission, Admission::kCordoned);
  faulty_disk::mend_disk();
  attach("b");
  open();
  ASSERT_EQ(devices_of(*farm_).size(), 2u);
  EXPECT_EQ(devices_of(*farm_)[0].admission, Admission::kCordoned);
}

TEST_F(FarmSavingTest, RestartEndsTheLeaseOfADeviceInQuarantine) {
  attach("a");
  const Lease granted = lease();
  StoredDevice device = store_->load()->devices.at(0);
  device.health.health = Health::kQuarantined;
  ASSERT_TRUE(store_->save({.devices = {device}}).ok());
  open();
  EXPECT_FALSE(devices_of(*farm_)[0].slots[0].lease);
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
  EXPECT_THAT(store_->load()->leases, IsEmpty());
  EXPECT_EQ(devices_of(*farm_)[0].slots[0].epoch, granted.epoch);
}

TEST_F(FarmSavingTest, LeaseOfADeviceThatNobodyKnowsIsNoneAfterARestart) {
  const Lease stray{.id = {"stray"},
                    .slot = {"unknown", 0},
                    .epoch = 5,
                    .holder = "h",
                    .holder_run = "r",
                    .user = "h",
                    .term = absl::Seconds(60),
                    .granted_at = {},
                    .expires_at = {}};
  ASSERT_TRUE(store_->save({.begun = {stray}}).ok());
  open();
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(stray.id, stray.epoch).status()));
  attach("unknown");
  EXPECT_EQ(lease().epoch, 6u);
}

TEST_F(FarmSavingTest, AThreadOfItsOwnSavesAndAtItsEndWhatIsLeft) {
  attach("a");
  {
    const FarmThreads threads(*farm_, rpc::real_clock());
    const auto requester = std::make_shared<FakeRequester>();
    farm_->acquire({.key = "box", .wait = absl::Minutes(1), .holder = "h", .user = "h"}, requester);
    ASSERT_TRUE(farm_->set_admission("a", Admission::kCordoned).ok()) << "after the lease, in one line";
    ASSERT_TRUE(requester->grant);
    for (int i = 0; i < 100; ++i) attach("d" + std::to_string(i));
  }
  EXPECT_EQ(store_->load()->devices.size(), 101u);
}

TEST_F(FarmSavingTest, ForgottenDeviceLeavesItsEpochsAndNothingElse) {
  const auto session = attach("a");
  attach("b", "pi");
  const Lease granted = lease();
  EXPECT_TRUE(absl::IsFailedPrecondition(farm_->forget("a"))) << "it is here";
  EXPECT_TRUE(absl::IsNotFound(farm_->forget("nobody")));
  farm_->detach(session);
  ASSERT_TRUE(farm_->forget("a").ok());
  EXPECT_TRUE(absl::IsNotFound(farm_->renew(granted.id, granted.epoch).status()));
  EXPECT_TRUE(absl::IsNotFound(acquire("box")->grant->status())) << "not: busy";
  EXPECT_EQ(devices_of(*farm_).size(), 1u);
  clock_.advance(absl::Hours(1));
  farm_->tick();
  open();
  EXPECT_EQ(devices_of(*farm_).size(), 1u);
  attach("a");
  EXPECT_EQ(lease().epoch, granted.epoch + 1);
}

TEST_F(FarmSavingTest, DeviceThatIsAwayForAMonthIsForgottenUnlessAnOperatorHasHisHandOnIt) {
  attach("busy");
  farm_->detach(attach("gone"));
  farm_->detach(attach("cordoned"));
  ASSERT_TRUE(farm_->set_admission("cordoned", Admission::kCordoned).ok());
  farm_->tick();
  clock_.advance(options_.agent_grace);
  farm_->tick();
  clock_.advance(options_.forget_after - options_.agent_grace - absl::Seconds(1));
  farm_->tick();
  farm_->detach(attach("back"));
  EXPECT_EQ(devices_of(*farm_).size(), 4u);
  clock_.advance(absl::Seconds(1));
  farm_->tick();
  std::vector<std::string> left;
  for (const DeviceStatus& device : devices_of(*farm_)) left.push_back(device.info->id);
  EXPECT_THAT(left, testing::ElementsAre("back", "busy", "cordoned"));
  open();
  EXPECT_EQ(devices_of(*farm_).size(), 3u);
}

TEST_F(FarmSavingTest, AbsenceGoesOnWhileTheTrackerIsRestartedEveryWeek) {
  static absl::Time wall;
  wall = absl::FromUnixSeconds(1'700'000'000);
  options_.wall_now = [] { return wall; };
  options_.forget_after = absl::Hours(24 * 30);
  open();
  const auto pass = [&](absl::Duration time) {
    clock_.advance(time);
    wall += time;
    farm_->tick();
  };
  farm_->detach(attach("gone"));
  farm_->detach(attach("back"));
  pass(options_.agent_grace);
  for (int week = 0; week < 4; ++week) {
    pass(absl::Hours(24 * 7));
    open();
    pass(options_.agent_grace);
    EXPECT_EQ(devices_of(*farm_).size(), 2u) << week;
    if (week == 2) farm_->detach(attach("back"));
  }
  pass(absl::Hours(24 * 2));
  ASSERT_EQ(devices_of(*farm_).size(), 1u);
  EXPECT_EQ(devices_of(*farm_)[0].info->id, "back");
  open();
  EXPECT_EQ(devices_of(*farm_).size(), 1u);
}

TEST_F(FarmSavingTest, ABoardTakesNoMorePlacesThanItMay) {
  options_.most_devices_of_a_board = 3;
  open();
  const auto try_attach = [&](const std::string& id) {
    const DeviceInfo info = *device_from_bytes(hello_bytes(id, "box"));
    return farm_->attach(info, "run", std::make_shared<FakeLink>()).status();
  };
  for (const char* id : {"box", "box/1", "box-2", "box.2/1", "box2/1"})
    EXPECT_TRUE(try_attach(id).ok()) << id;
  farm_->detach(attach("box/2"));
  for (const char* id : {"box/3", "box/0", "box/1/1"}) {
    const absl::Status refused = try_attach(id);
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << id;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("tracker forget 'box/*'"));
  }
  EXPECT_TRUE(try_attach("box/1").ok()) << "it is one of them";
  EXPECT_TRUE(try_attach("other").ok());
  ASSERT_TRUE(farm_->forget("box/*").ok()) << "of those below it, which are away";
  EXPECT_TRUE(try_attach("box/3").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(try_attach("box/4")));
  EXPECT_TRUE(absl::IsNotFound(farm_->forget("box/*"))) << "the others are here";
  EXPECT_TRUE(absl::IsNotFound(farm_->forget("nobody/*")));
}

TEST_F(FarmSavingTest, TheFarmTakesNoMoreDevicesThanItMay) {
  options_.most_devices = 2;
  open();
  attach("a");
  farm_->detach(attach("b"));
  const DeviceInfo third = *device_from_bytes(hello_bytes("c", "box"));
  const absl::Status refused = farm_->attach(third, "run", std::make_shared<FakeLink>()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  attach("a");  // it is one of them
  ASSERT_TRUE(farm_->forget("b").ok());
  EXPECT_TRUE(farm_->attach(third, "run", std::make_shared<FakeLink>()).ok());
}

TEST_F(FarmSavingTest, GoldenSamplesOfSlotsThatADeviceDoesNotHaveAreNotKept) {
  const auto session = attach("a");
  std::vector<GoldenSample> samples;
  for (uint32_t slot = 0; slot < 1000; ++slot)
    for (int i = 0; i < 6; ++i)
      samples.push_back({.slot = slot,
                         .kernel = "k",
                         .time_ns = 1'000'000 + i,
                         .taken_at = clock_.now() + absl::Seconds(10 * i)});
  farm_->report_golden(session, samples);
  EXPECT_EQ(store_->load()->golden.size(), 1u);
  EXPECT_EQ(devices_of(*farm_)[0].slots[0].golden.samples().size(), 6u);
}

}  // namespace
}  // namespace tf::tracker
