#include "tracker/state_store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "database/sqlite/sqlite_connection.h"
#include "proto/farm/v1/farm.pb.h"
#include "tests/support/faulty_disk/faulty_disk.h"
#include "tracker/leases/device_wire.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;

class StateStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(testing::TempDir()) + "/state_store" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    path_ = folder_ + "/made/tracker.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Lease lease(const std::string& id, uint64_t epoch) {
    return {.id = {id},
            .slot = {"device", 0},
            .epoch = epoch,
            .holder = "holder",
            .holder_run = "run",
            .user = "user",
            .purpose = "job 54",
            .priority = -3,
            .term = absl::Seconds(60),
            .granted_at = {},
            .expires_at = {}};
  }

  static absl::Status save(StateStore& store, const Lease& lease) { return store.save({.begun = {lease}}); }

  static absl::Status save(StateStore& store, const DeviceInfo& device) {
    return save(store, StoredDevice{.info = std::make_shared<const DeviceInfo>(device)});
  }

  static absl::Status save(StateStore& store, const StoredDevice& device) {
    return store.save({.devices = {device}});
  }

  static absl::Status end(StateStore& store, const std::string& id) {
    return store.save({.ended = {LeaseId{id}}});
  }

  static DeviceInfo device(const std::string& id) {
    tunefarm::farm::v1::AgentHello hello;
    hello.set_agent_id(id);
    hello.set_device_key("box");
    (*hello.mutable_labels())["room"] = "lab3";
    hello.add_slots()->add_cpus(0);
    return *device_from_proto(hello);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(StateStoreTest, EmptyPathIsRefused) {
  const absl::Status refused = StateStore::open("").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--state is empty"));
}

TEST_F(StateStoreTest, WhatIsNoDatabaseIsRefusedAsNoStateOfATracker) {
  std::filesystem::create_directories(folder_);
  const std::string file = folder_ + "/network.onnx";
  std::ofstream(file) << std::string(4096, 'x');
  for (const std::string& path : {folder_, file}) {
    const absl::Status refused = StateStore::open(path).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("cannot use " + path + " as the tracker state: "));
  }
}

TEST_F(StateStoreTest, KeepsLeasesAndEpochs) {
  {
    const auto store = *StateStore::open(path_);
    ASSERT_TRUE(save(*store, lease("a", 1)).ok());
    ASSERT_TRUE(end(*store, "a").ok());
    ASSERT_TRUE(save(*store, lease("b", 2)).ok());
  }
  const StoredState state = *(*StateStore::open(path_))->load();
  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].id.text, "b");
  EXPECT_EQ(state.leases[0].epoch, 2u);
  EXPECT_EQ(state.leases[0].term, absl::Seconds(60));
  EXPECT_EQ(state.leases[0].user, "user");
  EXPECT_EQ(state.leases[0].purpose, "job 54");
  EXPECT_EQ(state.leases[0].priority, -3);
  EXPECT_EQ(state.epochs.at({"device", 0}), 2u);
}

TEST_F(StateStoreTest, NewLeaseOfASlotReplacesOneWhoseEndWasNotWritten) {
  const auto store = *StateStore::open(path_);
  ASSERT_TRUE(save(*store, lease("a", 1)).ok());
  ASSERT_TRUE(save(*store, lease("b", 2)).ok());
  EXPECT_EQ(store->load()->leases.size(), 1u);
}

TEST_F(StateStoreTest, GrantsAllLeasesOfATransactionOrNone) {
  const auto store = *StateStore::open(path_);
  Lease second = lease("b", 1);
  second.slot = {"other", 0};
  const std::vector<Lease> leases = {lease("a", 1), second};
  ASSERT_TRUE(store->save({.begun = leases}).ok());
  EXPECT_EQ(store->load()->leases.size(), 2u);
}

TEST_F(StateStoreTest, KeepsWhatOperatorsAndHealthHaveMadeOfADevice) {
  const StoredHealth quarantined{Health::kQuarantined, "the golden kernel is off", 2};
  const GoldenBaseline baseline{"kernel", "machine", 1.5e6};
  {
    const auto store = *StateStore::open(path_);
    const auto info = std::make_shared<const DeviceInfo>(device("a"));
    ASSERT_TRUE(save(*store, *info).ok());
    ASSERT_TRUE(save(*store, {info, Admission::kDraining, quarantined}).ok());
    ASSERT_TRUE(store->save({.golden = {{{"a", 0}, baseline}, {{"a", 1}, baseline}}}).ok());
    ASSERT_TRUE(store->save({.golden = {{{"a", 1}, std::nullopt}}}).ok());
  }
  const StoredState state = *(*StateStore::open(path_))->load();
  ASSERT_EQ(state.devices.size(), 1u);
  EXPECT_EQ(state.devices[0].admission, Admission::kDraining);
  EXPECT_EQ(state.devices[0].health, quarantined);
  EXPECT_EQ(state.devices[0].info->labels.at("room"), "lab3");
  EXPECT_EQ(state.golden.at({"a", 0}), baseline);
  EXPECT_FALSE(state.golden.contains({"a", 1}));
}

TEST_F(StateStoreTest, OfAForgottenDeviceOnlyTheEpochsStay) {
  const auto store = *StateStore::open(path_);
  ASSERT_TRUE(save(*store, device("device")).ok());
  ASSERT_TRUE(store->save({.golden = {{{"device", 0}, GoldenBaseline{"kernel", "machine", 1.5e6}}}}).ok());
  ASSERT_TRUE(save(*store, lease("a", 7)).ok());
  ASSERT_TRUE(store->save({.forgotten = {"device"}, .ended = {LeaseId{"a"}}}).ok());
  const StoredState state = *store->load();
  EXPECT_TRUE(state.devices.empty());
  EXPECT_TRUE(state.golden.empty());
  EXPECT_TRUE(state.leases.empty());
  EXPECT_EQ(state.epochs.at({"device", 0}), 7u);
}

TEST_F(StateStoreTest, DeviceThatThisTrackerWouldRefuseIsLeftOutAndTheOthersAreThere) {
  {
    const auto store = *StateStore::open(path_);
    ASSERT_TRUE(save(*store, device("good")).ok());
    ASSERT_TRUE(save(*store, lease("a", 7)).ok());
  }
  for (const std::string name : {"two words", "no\nline", ""}) {
    tunefarm::farm::v1::AgentHello hello;  // as a tracker that looked less closely has let it in
    hello.set_agent_id(name);
    hello.set_device_key("box");
    const auto db = *database::Connection::open(path_, database::Access::kWrite);
    auto insert = *db->prepare("INSERT INTO device (id, admission, hello) VALUES (?, 0, ?)");
    const std::string bytes = hello.SerializeAsString();
    ASSERT_TRUE(insert.bind(name, database::Blob{bytes}).run().ok());
  }
  const absl::StatusOr<StoredState> state = (*StateStore::open(path_))->load();
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->devices.size(), 1u);
  EXPECT_EQ(state->devices[0].info->id, "good");
  EXPECT_EQ(state->epochs.at({"device", 0}), 7u);
}

TEST_F(StateStoreTest, KeepsReservations) {
  const absl::Time from = absl::FromUnixMillis(1'700'000'000'123);
  {
    const auto store = *StateStore::open(path_);
    const StoredReservation alice{3, "alice", "box", "room=lab3", from, from + absl::Hours(2)};
    const StoredReservation bob{4, "bob", "", "", from, from + absl::Hours(1)};
    ASSERT_TRUE(store->save({.reservations = {{3, alice}, {4, bob}}}).ok());
    ASSERT_TRUE(store->save({.reservations = {{4, std::nullopt}}}).ok());
  }
  const StoredState state = *(*StateStore::open(path_))->load();
  ASSERT_EQ(state.reservations.size(), 1u);
  EXPECT_EQ(state.reservations[0].id, 3u);
  EXPECT_EQ(state.reservations[0].user, "alice");
  EXPECT_EQ(state.reservations[0].selector, "room=lab3");
  EXPECT_EQ(state.reservations[0].from, from);
  EXPECT_EQ(state.reservations[0].until, from + absl::Hours(2));
}

TEST_F(StateStoreTest, BringsAFileOfTheFirstVersionUpToDate) {
  std::filesystem::create_directories(folder_ + "/made");
  {
    const auto old = *database::Connection::open(path_, database::Access::kWrite);
    ASSERT_TRUE(old->execute(R"sql(
        CREATE TABLE device (id TEXT PRIMARY KEY, draining INTEGER NOT NULL, hello BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE slot (device_id TEXT NOT NULL, slot INTEGER NOT NULL, epoch INTEGER NOT NULL,
                           PRIMARY KEY (device_id, slot)) WITHOUT ROWID;
        CREATE TABLE lease (id TEXT PRIMARY KEY, device_id TEXT NOT NULL, slot INTEGER NOT NULL,
                            epoch INTEGER NOT NULL, holder TEXT NOT NULL, holder_run TEXT NOT NULL,
                            term_ms INTEGER NOT NULL, UNIQUE (device_id, slot)) WITHOUT ROWID;
        INSERT INTO slot VALUES ('a', 0, 7);
        INSERT INTO lease VALUES ('l', 'a', 0, 7, 'alice:123', 'run', 60000);
        PRAGMA user_version = 1;)sql")
                    .ok());
    auto insert = *old->prepare("INSERT INTO device VALUES ('a', 1, ?)");
    const DeviceInfo info = device("a");
    ASSERT_TRUE(insert.bind(database::Blob{info.hello}).run().ok());
  }
  const auto store = StateStore::open(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  const StoredState state = *(*store)->load();
  EXPECT_EQ(state.devices.at(0).admission, Admission::kCordoned);
  EXPECT_EQ(state.devices.at(0).health, StoredHealth());
  EXPECT_EQ(state.leases.at(0).user, "alice");
  EXPECT_EQ(state.epochs.at({"a", 0}), 7u);
}

// A tuning database has versions of its own, beyond ours.
TEST_F(StateStoreTest, RefusesTheDatabaseOfAnotherProgramAndLeavesItAsItIs) {
  std::filesystem::create_directories(folder_ + "/made");
  for (const char* header :
       {"PRAGMA application_id = 0x54464442; PRAGMA user_version = 8;",
        "PRAGMA application_id = 0x54464442; PRAGMA user_version = 3;", "PRAGMA user_version = 2;", ""}) {
    std::filesystem::remove(path_);
    ASSERT_TRUE((*database::Connection::open(path_, database::Access::kWrite))
                    ->execute(absl::StrCat("CREATE TABLE theirs (x INTEGER); ", header))
                    .ok());
    const std::string before = *read_file(path_);
    const absl::Status status = StateStore::open(path_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(
        std::string(status.message()),
        absl::StrCat("cannot use ", path_, " as the tracker state: it is an SQLite database of another ",
                     "program; give another --state"));
    EXPECT_EQ(*read_file(path_), before) << header;
  }
}

TEST_F(StateStoreTest, IsNamedAsOursAlsoIfATrackerOfBeforeMadeIt) {
  ASSERT_TRUE(StateStore::open(path_).ok());
  const auto application = [&] {
    return *(*database::Connection::open(path_, database::Access::kWrite))
                ->query_int("PRAGMA application_id");
  };
  const int64_t ours = application();
  EXPECT_NE(ours, 0);
  ASSERT_TRUE((*database::Connection::open(path_, database::Access::kWrite))
                  ->execute("PRAGMA application_id = 0")
                  .ok());
  const auto again = StateStore::open(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(application(), ours);
}

TEST_F(StateStoreTest, OfANewerTrackerSaysWhichToRun) {
  ASSERT_TRUE(StateStore::open(path_).ok());
  ASSERT_TRUE((*database::Connection::open(path_, database::Access::kWrite))
                  ->execute("PRAGMA user_version = 99")
                  .ok());
  EXPECT_THAT(std::string(StateStore::open(path_).status().message()), HasSubstr("run the newer tracker"));
}

TEST_F(StateStoreTest, RefusesASecondTracker) {
  const auto first = StateStore::open(path_);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = StateStore::open(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("stop that tracker, or give this one a different --state"));
}

TEST_F(StateStoreTest, RefusesAFileThatIsNoDatabase) {
  std::filesystem::create_directories(folder_ + "/made");
  std::ofstream(path_) << std::string(8192, 'x');
  const absl::Status status = StateStore::open(path_).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(StateStoreTest, RefusesAFolderThatCannotBeMade) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/file") << "x";
  const absl::Status status = StateStore::open(folder_ + "/file/tracker.db").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("--state"));
}

// A scripted life of a tracker; what was acknowledged of it.
struct Acknowledged {
  std::map<uint32_t, uint64_t> epochs;     // by slot, the highest
  std::map<uint32_t, std::string> leases;  // by slot
  std::set<uint32_t> uncertain;  // slots whose last change failed: it may have reached the disk or not
  bool all = true;
};

Acknowledged live(const std::string& path) {
  Acknowledged done;
  const auto store = StateStore::open(path);
  if (!store.ok()) {
    done.all = false;
    return done;
  }
  const auto note = [&](uint32_t slot, const absl::Status& status) {
    if (!status.ok()) done.uncertain.insert(slot);
    done.all &= status.ok();
    return status.ok();
  };
  for (uint64_t epoch = 1; epoch <= 2; ++epoch) {
    for (uint32_t slot = 0; slot < 3; ++slot) {
      const Lease lease{.id = {absl::StrCat(slot, "-", epoch)},
                        .slot = {"device", slot},
                        .epoch = epoch,
                        .holder = "holder",
                        .holder_run = "run",
                        .user = "user",
                        .priority = 0,
                        .term = absl::Seconds(60),
                        .granted_at = {},
                        .expires_at = {}};
      if (note(slot, (*store)->save({.begun = {lease}}))) {
        done.epochs[slot] = epoch;
        done.leases[slot] = lease.id.text;
        done.uncertain.erase(slot);
      }
      if (slot == 1 && note(slot, (*store)->save({.ended = {lease.id}}))) done.leases.erase(slot);
    }
  }
  return done;
}

TEST_F(StateStoreTest, LosesNoEpochAndNoLeaseWhicheverWriteFails) {
  for (const faulty_disk::DiskFault fault : {faulty_disk::DiskFault::kGone, faulty_disk::DiskFault::kOnce}) {
    bool undisturbed = false;
    int64_t n = 0;
    while (!undisturbed && ++n < 300) {
      std::filesystem::remove_all(folder_);
      faulty_disk::fail_disk_at(n, fault);
      const Acknowledged done = live(path_);
      undisturbed = faulty_disk::mend_disk() < n;
      EXPECT_TRUE(done.all || !undisturbed) << n;
      const auto store = StateStore::open(path_);
      ASSERT_TRUE(store.ok()) << "write " << n << ": " << store.status();
      const StoredState state = *(*store)->load();
      for (const auto& [slot, epoch] : done.epochs) EXPECT_GE(state.epochs.at({"device", slot}), epoch) << n;
      std::map<uint32_t, std::string> leases;
      for (const Lease& lease : state.leases) leases[lease.slot.slot] = lease.id.text;
      for (uint32_t slot = 0; slot < 3; ++slot) {
        if (done.uncertain.contains(slot)) continue;
        const auto acknowledged = done.leases.find(slot);
        EXPECT_EQ(leases.contains(slot), acknowledged != done.leases.end())
            << "write " << n << ", slot " << slot;
        if (acknowledged != done.leases.end()) {
          EXPECT_EQ(leases[slot], acknowledged->second) << n;
        }
      }
    }
    EXPECT_TRUE(undisturbed);
    EXPECT_GT(n, 30);
  }
}

// The tracker died and left a log; the disk fails while the next one takes it up.
TEST_F(StateStoreTest, RecoversEveryEpochWhicheverWriteOfTheRecoveryFails) {
  const std::string crashed = folder_ + "/crashed.db";
  {
    const auto store = *StateStore::open(path_);
    for (uint64_t epoch = 1; epoch <= 5; ++epoch)
      ASSERT_TRUE(save(*store, lease(absl::StrCat("l", epoch), epoch)).ok());
    faulty_disk::copy_as_after_a_crash(path_, crashed);
  }
  for (const faulty_disk::DiskFault fault : {faulty_disk::DiskFault::kGone, faulty_disk::DiskFault::kOnce}) {
    bool undisturbed = false;
    int64_t n = 0;
    while (!undisturbed && ++n < 300) {
      faulty_disk::copy_as_after_a_crash(crashed, path_);
      faulty_disk::fail_disk_at(n, fault);
      bool acknowledged = false;
      if (const auto store = StateStore::open(path_); store.ok())
        acknowledged = save(**store, lease("l6", 6)).ok();
      undisturbed = faulty_disk::mend_disk() < n;
      const auto store = StateStore::open(path_);
      ASSERT_TRUE(store.ok()) << "write " << n << ": " << store.status();
      const StoredState state = *(*store)->load();
      ASSERT_EQ(state.leases.size(), 1u) << n;
      EXPECT_GE(state.epochs.at({"device", 0}), acknowledged ? 6u : 5u) << n;
      EXPECT_EQ(state.leases[0].epoch, state.epochs.at({"device", 0})) << n;
    }
    EXPECT_TRUE(undisturbed);
    EXPECT_GT(n, 5);
  }
}

// SQLite tells a damaged page, and not a damaged value: an epoch may come out as another one. Agents tell
// theirs again when they come, and grants are above those.
TEST_F(StateStoreTest, ADamagedFileIsRefusedOrReadButNeverACrash) {
  live(path_);
  const std::string sound = *read_file(path_);
  int refused = 0;
  for (size_t at = 0; at < sound.size(); at += 97) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    ASSERT_TRUE(write_file(path_, damaged).ok());
    const auto store = StateStore::open(path_);
    const absl::Status status = store.ok() ? (*store)->load().status() : store.status();
    if (status.ok()) continue;
    ++refused;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_)) << at;
  }
  EXPECT_GT(refused, 10);
}

// SQLite takes a file that is shorter than its header for a new one; zeros behind the last row are no loss.
TEST_F(StateStoreTest, ATruncatedFileIsRefusedOrLosesNoEpoch) {
  live(path_);
  const std::string sound = *read_file(path_);
  int refused = 0;
  for (size_t size = 1; size < sound.size(); size += 1000) {
    ASSERT_TRUE(write_file(path_, sound.substr(0, size)).ok());
    const auto store = StateStore::open(path_);
    if (store.ok()) {
      EXPECT_EQ((*store)->load()->epochs.size(), size < 512 ? 0u : 3u) << size;
      continue;
    }
    ++refused;
    EXPECT_THAT(std::string(store.status().message()), HasSubstr(path_)) << size;
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace tf::tracker
