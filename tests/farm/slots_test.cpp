// One agent with several slots: each its own lease, its own worker, its own trials, at the same time.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "base/files/temporary_folder.h"
#include "device_agent/agent/state_dir.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/harness.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {
namespace {

using measure::FarmRunner;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

// Counts how many slots run a trial at the same time.
class MeetingExecutor final : public agent::TrialExecutor {
 public:
  explicit MeetingExecutor(std::atomic<int>& inside, std::atomic<int>& most) : inside_(inside), most_(most) {}

  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<TrialResult> run(const Trial& trial, std::string_view, std::string_view,
                                  std::stop_token) override {
    EXPECT_FALSE(busy_.exchange(true)) << "a slot runs one trial at a time";
    const int now = ++inside_;
    for (int before = most_; before < now && !most_.compare_exchange_weak(before, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --inside_;
    busy_ = false;
    TrialResult result;
    result.set_outcome(tunefarm::farm::v1::OUTCOME_OK);
    result.set_artifact_digest(trial.artifact_digest());
    return result;
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }

 private:
  std::atomic<int>& inside_;
  std::atomic<int>& most_;
  std::atomic<bool> busy_ = false;
};

class SlotsTest : public testing::Test {
 protected:
  static constexpr int kSlots = 3;

  void SetUp() override {
    auto daemon =
        tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.path() + "/tracker.db"});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    start_agent();
  }
  void TearDown() override { stop_agent(); }

  void start_agent() {
    std::vector<agent::AgentSlot> slots;
    for (uint32_t i = 0; i < kSlots; ++i) slots.push_back({.cpus = {i}, .executor = executors_.at(i).get()});
    auto agent = agent::Agent::create({.tracker = daemon_->endpoint(),
                                       .key = "box",
                                       .id = "a1",
                                       .state_dir = dir_.path() + "/a",
                                       .slots = std::move(slots)},
                                      agent::read_facts());
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
    serving_ = std::thread([this] { agent_->run().IgnoreError(); });
  }
  void stop_agent() {
    if (!serving_.joinable()) return;
    agent_->stop();
    serving_.join();
    agent_ = nullptr;
  }

  std::vector<std::unique_ptr<FarmRunner>> connect_all() {
    std::vector<std::unique_ptr<FarmRunner>> runners;
    for (int i = 0; i < 200 && runners.size() < kSlots; ++i) {
      auto runner = FarmRunner::connect(
          {.tracker = daemon_->endpoint(), .device_key = "box", .first_wait = absl::Seconds(5)});
      if (runner.ok()) {
        runners.push_back(*std::move(runner));
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    EXPECT_EQ(runners.size(), static_cast<size_t>(kSlots));
    return runners;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  std::unique_ptr<tracker::Daemon> daemon_;
  std::atomic<int> inside_ = 0, most_ = 0;
  std::vector<std::unique_ptr<MeetingExecutor>> executors_ = [this] {
    std::vector<std::unique_ptr<MeetingExecutor>> made;
    for (int i = 0; i < kSlots; ++i) made.push_back(std::make_unique<MeetingExecutor>(inside_, most_));
    return made;
  }();
  std::unique_ptr<agent::Agent> agent_;
  std::thread serving_;
};

TEST_F(SlotsTest, EachSlotHasALeaseOfItsOwnAndAllMeasureAtTheSameTime) {
  const auto runners = connect_all();
  std::set<uint32_t> slots;
  for (const auto& runner : runners) slots.insert(runner->leased_device().slot);
  EXPECT_EQ(slots.size(), static_cast<size_t>(kSlots));
  std::vector<std::thread> threads;
  for (const auto& runner : runners) {
    threads.emplace_back([&runner] {
      for (int i = 0; i < 20; ++i) {
        const Trial trial;
        const auto result = runner->run(request(trial, "candidate " + std::to_string(i)));
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->slot(), "a1/" + std::to_string(runner->leased_device().slot));
        runner->acknowledge(*result);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most_, kSlots);
}

TEST_F(SlotsTest, StoppedAgentFinishesEveryRunningTrialAndHandsEveryLeaseBack) {
  auto runners = connect_all();
  std::atomic<int> finished = 0;
  std::vector<std::thread> threads;
  for (const auto& runner : runners) {
    threads.emplace_back([&] {
      const Trial trial;
      const auto result = runner->run(request(trial, "the last one"));
      if (!result.ok()) return;
      runner->acknowledge(*result);
      ++finished;
    });
  }
  while (inside_ < kSlots) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop_agent();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished, kSlots);
  runners.clear();
  // Every slot has remembered the epoch that it served.
  const auto state = agent::StateDir::open(dir_.path() + "/a");
  ASSERT_TRUE(state.ok()) << state.status();
  for (uint32_t slot = 0; slot < kSlots; ++slot) EXPECT_EQ((*state)->newest_lease(slot).epoch, 1u) << slot;
}

TEST_F(SlotsTest, EndOfOneSlotsLeaseLeavesTheOthersAlone) {
  auto runners = connect_all();
  const std::string lease = runners[1]->leased_device().lease_id;
  runners[0] = nullptr;
  const Trial trial;
  for (int i = 0; i < 5; ++i) {
    const auto result = runners[1]->run(request(trial, "candidate " + std::to_string(i)));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->lease_id(), lease);
    runners[1]->acknowledge(*result);
  }
}

TEST(AgentSignals, ASecondSignalStopsAnAgentAtOnceThatWaitsForALongTrial) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  auto tracker =
      tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir.path() + "/tracker.db"});
  ASSERT_TRUE(tracker.ok()) << tracker.status();
  const rpc::Endpoint endpoint = (*tracker)->endpoint();
  Process agent(
      {program("farm_test_agent"), endpoint.text(), "box", dir.path() + "/a", "60000", dir.path() + "/log"},
      dir.path() + "/output");
  absl::StatusOr<std::unique_ptr<FarmRunner>> runner = absl::NotFoundError("");
  for (int i = 0; i < 500 && absl::IsNotFound(runner.status()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    runner = FarmRunner::connect({.tracker = endpoint, .device_key = "box"});
  }
  ASSERT_TRUE(runner.ok()) << runner.status();
  std::thread measuring([&] {
    const Trial trial;
    EXPECT_FALSE((*runner)->run(request(trial, "candidate")).ok());
  });
  while (lines_of(dir.path() + "/log.begun").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  agent.signal(SIGTERM);
  EXPECT_FALSE(agent.exited_within(300)) << "the trial runs for a minute";
  agent.signal(SIGTERM);
  EXPECT_TRUE(agent.exited_within(10'000));
  EXPECT_EQ(agent.wait(), 130);
  (*runner)->cancel();
  measuring.join();
}

TEST(SlotOffers, AnAgentRefusesOverlappingSlots) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  FakeExecutor executor(std::chrono::milliseconds(1), "");
  const auto agent = agent::Agent::create(
      {.tracker = {"127.0.0.1", 1},
       .key = "box",
       .state_dir = dir.path(),
       .slots = {{.cpus = {0, 1}, .executor = &executor}, {.cpus = {1, 2}, .executor = &executor}}},
      agent::read_facts());
  EXPECT_TRUE(absl::IsInvalidArgument(agent.status()));
  EXPECT_NE(agent.status().message().find("CPU 1"), std::string::npos) << agent.status();
}

}  // namespace
}  // namespace tf::farm_test
