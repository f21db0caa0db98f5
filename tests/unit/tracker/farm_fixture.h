#pragma once
// Owns: a Farm on a state file of its own, with links and requesters that note what they hear.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tracker/farm.h"
#include "tracker/state_store.h"

namespace tf::tracker {

// All of them, in the order of their ids.
inline std::vector<DeviceStatus> devices_of(Farm& farm) {
  std::vector<DeviceStatus> all;
  DeviceQuery query;
  do {
    DevicePage part = farm.page(query);
    std::ranges::move(part.devices, std::back_inserter(all));
    query.after = std::move(part.next);
  } while (!query.after.empty());
  return all;
}

class FakeLink final : public Link {
 public:
  void wake() override { ++wakes; }
  void close(const absl::Status& status) override { closed = status; }
  int wakes = 0;
  absl::Status closed;
};

class FakeRequester final : public Requester {
 public:
  void answer(absl::StatusOr<Grant> answer) override {
    EXPECT_FALSE(grant.has_value()) << "answered twice";
    grant = std::move(answer);
  }
  std::optional<absl::StatusOr<Grant>> grant;
};

class FarmTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::string(testing::TempDir()) + "/farm_state" + std::to_string(getpid()) + ".db";
    remove_files();
    open();
  }

  void TearDown() override {
    farm_ = nullptr;
    store_ = nullptr;
    remove_files();
  }

  void remove_files() {
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path_ + suffix);
  }

  void open() {
    farm_ = nullptr;
    store_ = nullptr;
    auto store = StateStore::open(path_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    auto farm = Farm::open(clock_, *store_, options_);
    ASSERT_TRUE(farm.ok()) << farm.status();
    farm_ = *std::move(farm);
  }

  Farm::SessionId attach(const std::string& id, const std::string& key = "box",
                         const std::string& run = "run", uint64_t highest_epoch = 0) {
    // The store keeps the hello and reads the device back from it.
    DeviceInfo info{.id = id, .key = key, .slots = {{0, 2, highest_epoch}}, .hello = hello_bytes(id, key)};
    link_ = std::make_shared<FakeLink>();
    const auto session = farm_->attach(info, run, link_);
    EXPECT_TRUE(session.ok()) << session.status();
    return *session;
  }

  // To whom holders may go straight.
  Farm::SessionId attach_listening(const std::string& id, const std::string& key,
                                   const std::string& run = "run") {
    const DeviceInfo info{
        .id = id, .key = key, .listens = true, .slots = {{0, 2, 0}}, .hello = hello_bytes(id, key)};
    return *farm_->attach(info, run, std::make_shared<FakeLink>());
  }

  // farm.v1.AgentHello by hand: agent_id = 2, device_key = 4, slots = 6 {cpus = 2 packed}.
  static std::string hello_bytes(const std::string& id, const std::string& key) {
    const auto text = [](char field, const std::string& value) {
      return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(value.size())} + value;
    };
    return text(2, id) + text(4, key) + text(6, text(2, std::string{0, 1}));
  }

  std::shared_ptr<FakeRequester> acquire(AcquireRequest request) {
    auto requester = std::make_shared<FakeRequester>();
    request.term = absl::Seconds(60);
    if (request.user.empty()) request.user = user_of(request.holder);
    farm_->acquire(std::move(request), requester);
    farm_->tick();
    return requester;
  }

  std::shared_ptr<FakeRequester> acquire(const std::string& key, absl::Duration wait = absl::ZeroDuration(),
                                         const std::string& holder = "h", const std::string& run = "r") {
    return acquire({.key = key, .wait = wait, .holder = holder, .holder_run = run});
  }

  Lease lease(const std::string& key = "box") {
    const auto requester = acquire(key);
    EXPECT_TRUE(requester->grant && requester->grant->ok());
    return (*requester->grant)->lease;
  }

  AgentReply reply(const Lease& lease, uint64_t sequence) {
    return {lease.slot,          lease.id, lease.epoch, sequence, "r" + std::to_string(sequence),
            TrialEnd::kMeasured, 0,        ""};
  }

  std::string path_;
  rpc::FakeClock clock_;
  FarmOptions options_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Farm> farm_;
  std::shared_ptr<FakeLink> link_;
};

}  // namespace tf::tracker
