// What the tracker's state machines cost with many devices: events a second of matching alone, of the whole
// farm with its state file, and the time from start to the first lease with 100,000 rows in that file.
// Without gRPC.

#include <benchmark/benchmark.h>
#include <spdlog/spdlog.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.pb.h"
#include "tests/support/fake_clock.h"
#include "tracker/farm.h"
#include "tracker/leases/device_wire.h"
#include "tracker/leases/matchmaker.h"
#include "tracker/state_store.h"

namespace {

using namespace tf::tracker;  // NOLINT: a benchmark of this namespace alone

// As an agent on a server says hello: about 2 KB.
DeviceInfo device(int number, int slots) {
  tunefarm::farm::v1::AgentHello hello;
  hello.set_agent_id("device-" + std::to_string(number));
  hello.set_device_key("box");
  (*hello.mutable_labels())["room"] = "lab" + std::to_string(number % 10);
  tunefarm::farm::v1::DeviceFacts& facts = *hello.mutable_facts();
  facts.set_arch("x86_64");
  facts.set_memory_bytes(64ull << 30);
  for (int i = 0; i < 90; ++i) facts.add_cpu_features("avx512feature" + std::to_string(i));
  for (int slot = 0; slot < slots; ++slot) {
    tunefarm::farm::v1::SlotOffer& offer = *hello.add_slots();
    offer.set_slot(static_cast<uint32_t>(slot));
    for (int cpu = 0; cpu < 4; ++cpu) offer.add_cpus(static_cast<uint32_t>(4 * slot + cpu));
  }
  const absl::StatusOr<DeviceInfo> info = device_from_proto(hello);
  TF_CHECK(info.ok()) << info.status().ToString();
  return *info;
}

Requirements requirements(int number) {
  Requirements made{.arch = "x86_64", .min_threads = 1};
  if (number % 4 != 0) made.selector = *Selector::parse("room!=lab" + std::to_string(number % 4));
  return made;
}

// More than there are users, so that a slot which ends is rarely one that no waiting request can use.
constexpr int kMoreWaiting = 16;

// A lease ends, a request comes, and one is matched: three events, but for the slots that stay free until a
// request comes that can use them. range(0) devices, nearly all leased, and range(1) users that wait, with
// requests of four kinds.
void BM_Matching(benchmark::State& state) {
  tf::rpc::FakeClock clock;
  Matchmaker matchmaker(clock, {}, {.everyone = {.max_waiting = 0}, .users = {}});
  const int devices = static_cast<int>(state.range(0));
  const int users = static_cast<int>(state.range(1));
  std::deque<Match> held;  // oldest first
  int next_user = 0;
  const auto ask = [&] {
    const int user = next_user++;
    const auto requester = matchmaker.add({.kind = {"box", requirements(user)},
                                           .user = "user" + std::to_string(user % users),
                                           .holder = "holder" + std::to_string(user),
                                           .holder_run = "run",
                                           .priority = user % 5,
                                           .wait = absl::Hours(1000)});
    TF_CHECK(requester.ok()) << requester.status().ToString();
  };
  for (int i = 0; i < devices; ++i) {
    matchmaker.describe(std::make_shared<const DeviceInfo>(device(i, 1)));
    matchmaker.set_free({"device-" + std::to_string(i), 0}, {});
  }
  for (int i = 0; i < devices + users + kMoreWaiting; ++i) ask();
  const auto match_all = [&] {
    while (std::optional<Match> match = matchmaker.next()) held.push_back(*std::move(match));
  };
  match_all();
  int64_t events = 0;
  for (auto _ : state) {
    clock.advance(absl::Milliseconds(10));
    TF_CHECK(!held.empty()) << "more wait than there are slots";
    const size_t before = held.size();
    matchmaker.end(held.front().slot, held.front().request.user);
    matchmaker.set_free(held.front().slot, {});
    held.pop_front();
    match_all();
    ask();
    match_all();
    events += 2 + static_cast<int64_t>(held.size() + 1 - before);
  }
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Matching)->ArgsProduct({{100, 1000, 10000}, {1, 100}});

class NoLink final : public Link {
 public:
  void wake() override {}
  void close(const absl::Status&) override {}
};

class CountingRequester final : public Requester {
 public:
  void answer(absl::StatusOr<Grant> answer) override { grant = std::move(answer); }
  absl::StatusOr<Grant> grant = absl::UnknownError("not answered");
};

std::vector<StoredDevice> stored(const std::vector<DeviceInfo>& devices) {
  std::vector<StoredDevice> rows;
  for (const DeviceInfo& each : devices) rows.push_back({.info = std::make_shared<const DeviceInfo>(each)});
  return rows;
}

// With `known` devices besides those of the file.
struct OpenFarm {
  explicit OpenFarm(const std::string& path, const std::vector<DeviceInfo>& known = {})
      : store(*StateStore::open(path)) {
    TF_CHECK(store->save({.devices = stored(known)}).ok()) << path;
    farm = *Farm::open(clock, *store);
  }
  tf::rpc::FakeClock clock;
  std::unique_ptr<StateStore> store;
  std::unique_ptr<Farm> farm;
};

// An agent that is known comes back: what a storm of reconnections is made of.
void BM_Reconnection(benchmark::State& state) {
  const tf::TemporaryFolder dir = *tf::TemporaryFolder::make();
  const int devices = static_cast<int>(state.range(0));
  std::vector<DeviceInfo> known;
  for (int i = 0; i < devices; ++i) known.push_back(device(i, 1));
  OpenFarm open(dir.path() + "/tracker.db", known);
  const auto link = std::make_shared<NoLink>();
  std::vector<Farm::SessionId> sessions;
  for (const DeviceInfo& each : known) sessions.push_back(*open.farm->attach(each, "run", link));
  size_t next = 0;
  for (auto _ : state) {
    open.farm->detach(sessions[next]);
    sessions[next] = *open.farm->attach(known[next], "run", link);
    next = (next + 1) % sessions.size();
  }
  state.counters["reconnections"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Reconnection)->Arg(100)->Arg(10000);

// The lease of a slot that is free.
Lease lease_now(Farm& farm) {
  const auto requester = std::make_shared<CountingRequester>();
  farm.acquire({.key = "box",
                .requirements = {},
                .wait = {},
                .term = {},
                .holder = "h",
                .holder_run = "r",
                .user = "h"},
               requester);
  TF_CHECK(requester->grant.ok()) << requester->grant.status().ToString();
  return requester->grant->lease;
}

// A lease is granted and released, both durable: the disk's share is most of it.
void BM_DurableGrant(benchmark::State& state) {
  const tf::TemporaryFolder dir = *tf::TemporaryFolder::make();
  std::vector<DeviceInfo> known;
  for (int i = 0; i < state.range(0); ++i) known.push_back(device(i, 1));
  OpenFarm open(dir.path() + "/tracker.db", known);
  const auto link = std::make_shared<NoLink>();
  for (const DeviceInfo& each : known) TF_CHECK(open.farm->attach(each, "run", link).ok()) << each.id;
  for (auto _ : state) {
    const Lease lease = lease_now(*open.farm);
    open.farm->release(lease.id, lease.epoch);
  }
  state.counters["grants"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_DurableGrant)->Arg(10)->Arg(1000)->Unit(benchmark::kMicrosecond);

// From the start on a file of 100,000 rows (20,000 devices, 60,000 slots with epochs, 20,000 leases) to the
// first lease.
void BM_RestartToFirstLease(benchmark::State& state) {
  const tf::TemporaryFolder dir = *tf::TemporaryFolder::make();
  const std::string path = dir.path() + "/tracker.db";
  constexpr int kDevices = 20'000;
  {
    const auto store = *StateStore::open(path);
    std::vector<Lease> leases;
    for (int i = 0; i < kDevices; ++i) {
      const DeviceInfo info = device(i, 3);
      for (uint32_t slot = 0; slot < 3; ++slot) {
        leases.push_back({.id = {info.id + "." + std::to_string(slot)},
                          .slot = {info.id, slot},
                          .epoch = 7,
                          .holder = "holder",
                          .holder_run = "run",
                          .user = "user",
                          .term = absl::Seconds(60)});
      }
    }
    TF_CHECK(store->save({.begun = leases}).ok()) << "leases";
    std::vector<LeaseId> ended;
    for (const Lease& lease : leases) {
      if (lease.slot.slot != 0) ended.push_back(lease.id);
    }
    TF_CHECK(store->save({.ended = ended}).ok()) << "ends";
    std::vector<DeviceInfo> devices;
    for (int i = 0; i < kDevices; ++i) devices.push_back(device(i, 3));
    TF_CHECK(store->save({.devices = stored(devices)}).ok()) << "devices";
  }
  const auto link = std::make_shared<NoLink>();
  for (auto _ : state) {
    OpenFarm open(path);
    const DeviceInfo first = device(0, 3);
    TF_CHECK(open.farm->attach(first, "run", link).ok()) << "attach";
    const Lease lease = lease_now(*open.farm);
    state.PauseTiming();
    open.farm->release(lease.id, lease.epoch);
    open.farm = nullptr;
    state.ResumeTiming();
  }
}
BENCHMARK(BM_RestartToFirstLease)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::off);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
