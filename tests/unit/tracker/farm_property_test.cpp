// Random sequences of everything that can happen to a farm, and after each event what must always be true.

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "proto/farm/v1/farm.pb.h"
#include "tests/support/fake_clock.h"
#include "tracker/farm.h"
#include "tracker/leases/device_wire.h"
#include "tracker/state_store.h"

namespace tf::tracker {
namespace {

constexpr int kSequences = 1000;
constexpr int kEvents = 60;
constexpr int kDevices = 4;

class QuietLink final : public Link {
 public:
  void wake() override {}
  void close(const absl::Status&) override { closed = true; }
  bool closed = false;
};

class RememberingRequester final : public Requester {
 public:
  void answer(absl::StatusOr<Grant> answer) override {
    EXPECT_FALSE(answered) << "answered twice";
    answered = true;
    grant = std::move(answer);
  }
  bool answered = false;
  absl::StatusOr<Grant> grant = absl::UnknownError("");
};

DeviceInfo device(int number, int variant) {
  tunefarm::farm::v1::AgentHello hello;
  hello.set_agent_id("d" + std::to_string(number));
  hello.set_device_key(number == 3 ? "pi" : "box");
  (*hello.mutable_labels())["variant"] = std::to_string(variant);
  for (int slot = 0; slot < 1 + number % 2; ++slot) {
    auto& offer = *hello.add_slots();
    offer.set_slot(static_cast<uint32_t>(slot));
    offer.add_cpus(static_cast<uint32_t>(slot));
  }
  return *device_from_proto(hello);
}

// One farm and those who use it. Time stands still but for its own events.
class RandomFarm {
 public:
  explicit RandomFarm(uint64_t seed)
      : random_(seed), path_(folder() + "/farm" + std::to_string(getpid()) + ".db") {
    remove_files();
    options_.policies.users["greedy"] = {.share = 1, .max_slots = 2, .max_waiting = 3};
    options_.health.quarantine_after = 3;
    open();
  }
  ~RandomFarm() {
    farm_ = nullptr;
    store_ = nullptr;
    remove_files();
  }

  void step() {
    switch (pick(15)) {
      case 0:
      case 1:
        return attach();
      case 2:
        return detach();
      case 3:
      case 4:
      case 5:
        return acquire();
      case 6:
        return cancel();
      case 7:
      case 8:
        return renew();
      case 9:
        return release();
      case 10:
        return farm_->set_admission(name(), static_cast<Admission>(pick(3))).IgnoreError();
      case 11:
        return reserve();
      case 12:
        return answer();
      case 13:
        return pick(8) == 0 ? open() : pass_time();
      default:
        return pass_time();
    }
  }

  void check() {
    take_answers();
    const std::vector<DeviceStatus> devices = farm_->page({}).devices;
    std::map<std::string, uint32_t> held;
    std::map<LeaseId, Lease> active;
    for (const DeviceStatus& device : devices) {
      for (const SlotStatus& slot : device.slots) {
        if (!slot.lease) continue;
        ++held[slot.lease->user];
        EXPECT_TRUE(active.emplace(slot.lease->id, *slot.lease).second) << "one lease on two slots";
        EXPECT_EQ(slot.lease->epoch, slot.epoch) << "the valid epoch of a slot is its highest";
        EXPECT_GT(slot.remaining, absl::ZeroDuration()) << "a lease outlives its term";
        EXPECT_TRUE(device.health != Health::kQuarantined) << "a lease on a device in quarantine";
      }
    }
    for (const auto& [user, policy] : options_.policies.users) {
      EXPECT_LE(held[user], policy.max_slots) << user;
    }
    check_streams(active);
    check_requesters(devices, held);
  }

 private:
  static std::string folder() {
    return std::filesystem::exists("/dev/shm") ? "/dev/shm" : testing::TempDir();
  }

  uint64_t pick(uint64_t below) { return random_() % below; }
  std::string name() { return "d" + std::to_string(pick(kDevices)); }
  std::string user() { return std::vector<std::string>{"greedy", "alice", "bob"}[pick(3)]; }

  void remove_files() {
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path_ + suffix);
  }

  // Also a restart.
  void open() {
    farm_ = nullptr;
    store_ = nullptr;
    sessions_.clear();
    requesters_.clear();
    store_ = *StateStore::open(path_);
    farm_ = *Farm::open(clock_, *store_, options_);
  }

  void attach() {
    const int number = static_cast<int>(pick(kDevices));
    const DeviceInfo info = device(number, static_cast<int>(pick(2)));
    const auto session = farm_->attach(info, "run", std::make_shared<QuietLink>());
    ASSERT_TRUE(session.ok()) << session.status();
    sessions_[info.id] = *session;
  }

  void detach() {
    const auto session = sessions_.find(name());
    if (session == sessions_.end()) return;
    farm_->detach(session->second);
    sessions_.erase(session);
  }

  void acquire() {
    auto requester = std::make_shared<RememberingRequester>();
    const std::string who = user();
    farm_->acquire({.key = pick(4) == 0 ? "pi" : "box",
                    .requirements = {.selector = *Selector::parse(pick(3) == 0 ? "variant=1" : "")},
                    .wait = absl::Seconds(1 + pick(400)),
                    .term = absl::Seconds(10 + pick(100)),
                    .holder = who + ":" + std::to_string(pick(3)),
                    .holder_run = "run" + std::to_string(pick(20) == 0 ? 1 : 0),
                    .user = who,
                    .priority = static_cast<int>(pick(30)) - 15},
                   requester);
    requesters_.push_back(requester);
  }

  void cancel() {
    if (requesters_.empty()) return;
    const size_t which = pick(requesters_.size());
    const std::shared_ptr<RememberingRequester> requester = requesters_[which];
    EXPECT_EQ(farm_->cancel(requester.get()), !requester->answered);
    if (!requester->answered) requesters_.erase(requesters_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  const Lease* granted() { return grants_.empty() ? nullptr : &grants_[pick(grants_.size())]; }

  void renew() {
    if (const Lease* lease = granted()) farm_->renew(lease->id, lease->epoch).status().IgnoreError();
  }

  void release() {
    if (const Lease* lease = granted()) farm_->release(lease->id, lease->epoch);
  }

  void reserve() {
    if (pick(3) != 0) {
      const std::vector<ReservationStatus> all = farm_->reservations();
      if (!all.empty()) farm_->unreserve(all[pick(all.size())].reservation.id).IgnoreError();
      return;
    }
    const absl::Time from = absl::Now() + absl::Seconds(pick(200));
    farm_
        ->reserve({.user = user(),
                   .device_key = pick(2) == 0 ? "box" : "",
                   .selector = *Selector::parse(pick(2) == 0 ? "variant=1" : ""),
                   .from = from,
                   .until = from + absl::Seconds(1 + pick(300))})
        .status()
        .IgnoreError();
  }

  // A trial is sent, and answered by the device.
  void answer() {
    const Lease* lease = granted();
    if (!lease) return;
    const auto stream = farm_->open_stream(lease->id, lease->epoch, std::make_shared<QuietLink>());
    if (!stream.ok()) return;
    const uint64_t sequence = ++sequence_;
    farm_->submit(*stream, sequence, "trial",
                  {.candidate = "c" + std::to_string(pick(20)), .run_timeout = absl::Seconds(1)});
    const auto session = sessions_.find(lease->slot.device_id);
    if (session == sessions_.end()) return;
    farm_->report(session->second,
                  {{.slot = lease->slot,
                    .lease = lease->id,
                    .epoch = lease->epoch,
                    .sequence = sequence,
                    .reply = "",
                    .end = pick(3) == 0 ? TrialEnd::kMeasured : TrialEnd::kCrashed,
                    .signal = 0,
                    .detail = ""}},
                  pick(20) == 0);
  }

  void pass_time() {
    clock_.advance(absl::Seconds(pick(40)));
    farm_->tick();
  }

  void take_answers() {
    std::erase_if(requesters_, [this](const std::shared_ptr<RememberingRequester>& requester) {
      if (!requester->answered) return false;
      if (!requester->grant.ok()) return true;
      const Lease& lease = requester->grant->lease;
      uint64_t& highest = highest_epoch_[lease.slot];
      EXPECT_GT(lease.epoch, highest) << "an epoch was granted twice, or after a higher one";
      highest = lease.epoch;
      grants_.push_back(lease);
      return true;
    });
  }

  // Of all leases ever granted, exactly those that are active have a stream.
  void check_streams(const std::map<LeaseId, Lease>& active) {
    for (const Lease& lease : grants_) {
      const auto stream = farm_->open_stream(lease.id, lease.epoch, std::make_shared<QuietLink>());
      EXPECT_EQ(stream.ok(), active.contains(lease.id)) << lease.id.text;
    }
  }

  // Nobody waits for what he could have, and nobody waits longer than he asked for.
  void check_requesters(const std::vector<DeviceStatus>& devices, std::map<std::string, uint32_t>& held) {
    std::map<std::string, size_t> waiting;
    for (const WaitingStatus& each : farm_->waiting()) {
      ++waiting[each.request.user];
      EXPECT_LT(clock_.now(), each.request.deadline);
      const UserPolicy& policy = options_.policies.of(each.request.user);
      if (policy.max_slots != 0 && held[each.request.user] >= policy.max_slots) continue;
      for (const DeviceStatus& device : devices) {
        const bool usable = device.online && !device.stopping && device.admission == Admission::kOpen &&
                            device.health != Health::kQuarantined && device.info->key == each.key &&
                            (device.reserved_for.empty() || device.reserved_for == each.request.user) &&
                            each.requirements.selector.matches(device.info->labels);
        if (!usable) continue;
        for (const SlotStatus& slot : device.slots) {
          EXPECT_TRUE(slot.lease) << each.request.holder << " waits though " << device.info->id << " is free";
        }
      }
    }
    for (const auto& [user, policy] : options_.policies.users) {
      EXPECT_LE(waiting[user], policy.max_waiting) << user;
    }
  }

  std::mt19937_64 random_;
  const std::string path_;
  rpc::FakeClock clock_;
  FarmOptions options_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<Farm> farm_;
  std::map<std::string, Farm::SessionId> sessions_;
  std::vector<std::shared_ptr<RememberingRequester>> requesters_;
  std::vector<Lease> grants_;  // all that were ever made
  std::map<SlotKey, uint64_t> highest_epoch_;
  uint64_t sequence_ = 0;
};

TEST(FarmProperty, InvariantsHoldAfterEveryEventOfRandomSequences) {
  spdlog::set_level(spdlog::level::off);
  for (int seed = 1; seed <= kSequences; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFarm farm(static_cast<uint64_t>(seed));
    for (int event = 0; event < kEvents; ++event) {
      SCOPED_TRACE("event " + std::to_string(event));
      farm.step();
      farm.check();
      if (testing::Test::HasFailure()) return;
    }
  }
  spdlog::set_level(spdlog::level::info);
}

}  // namespace
}  // namespace tf::tracker
