// Tracker, agent and tuner's side in one process, over real connections.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.pb.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/harness.h"
#include "tests/farm/wait_until.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {
namespace {

using measure::FarmRunner;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

class InProcessFarm : public testing::Test {
 protected:
  void SetUp() override {
    auto daemon =
        tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.path() + "/tracker.db"});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  // Agents register asynchronously: asks until the key is known.
  absl::StatusOr<std::unique_ptr<FarmRunner>> connect(const std::string& key = "box") {
    for (int i = 0; i < 100; ++i) {
      auto runner = FarmRunner::connect(
          {.tracker = daemon_->endpoint(), .device_key = key, .first_wait = absl::Seconds(5)});
      if (!absl::IsNotFound(runner.status())) return runner;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return absl::NotFoundError("the agent never registered");
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  std::unique_ptr<tracker::Daemon> daemon_;
};

TEST(TrackerState, HasItsArtifactsBesideItselfByWhateverLinkItIsNamed) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  std::filesystem::create_directory(dir.file("disk"));
  std::filesystem::create_symlink("disk/tracker.db", dir.file("link.db"));
  const auto daemon = tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir.file("link.db")});
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  for (const char* name : {"tracker.db", "tracker.db.lock", "tracker.db.artifacts"})
    EXPECT_TRUE(std::filesystem::exists(dir.file("disk/") + name)) << name;
  EXPECT_FALSE(std::filesystem::exists(dir.file("link.db.artifacts")));
}

TEST_F(InProcessFarm, MeasuresATrialOnTheLeasedDevice) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_EQ((*runner)->leased_device().device_id, "a1");
  EXPECT_EQ((*runner)->leased_device().threads, 2u);
  EXPECT_EQ((*runner)->peak_gflops(), 42);
  EXPECT_EQ((*runner)->device()->fingerprint(), "f1");
  const Trial trial;
  const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, "candidate", "reference"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->detail(), "candidate");
  EXPECT_EQ(result->sequence(), 1u);
  EXPECT_EQ(result->epoch(), 1u);
  EXPECT_EQ(result->lease_id(), (*runner)->leased_device().lease_id);
  (*runner)->acknowledge(*result);
}

TEST_F(InProcessFarm, AnswersManyTrialsOfManyThreadsOnceEach) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  std::mutex mutex;
  std::set<uint64_t> sequences;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string candidate = "c" + std::to_string(t) + "." + std::to_string(i);
        const Trial trial;
        const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, candidate, "reference"));
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->detail(), candidate);
        (*runner)->acknowledge(*result);
        const std::scoped_lock lock(mutex);
        EXPECT_TRUE(sequences.insert(result->sequence()).second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sequences.size(), 200u);
}

TEST_F(InProcessFarm, WhatRunsEndsWithItsLeaseAndTheNextHolderMeasures) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  std::thread measuring([&] { EXPECT_FALSE((*runner)->run(request(trial, "endless: loop")).ok()); });
  EXPECT_TRUE(wait_until([&] { return agent.executor().begun() == 1; }));
  (*runner)->cancel();
  measuring.join();
  *runner = nullptr;  // releases its lease
  const auto next = connect();
  ASSERT_TRUE(next.ok()) << next.status();
  const absl::StatusOr<TrialResult> result = (*next)->run(request(trial, "candidate"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(agent.executor().ended(), 1);
}

TEST_F(InProcessFarm, CarriesAnArtifactOfManyChunks) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, std::string(5'000'001, 'x')));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->samples(0).total_ns(), 5'000'001'000);
}

TEST_F(InProcessFarm, TellsFailuresOfTheDeviceFromMalformedTrials) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  EXPECT_TRUE(absl::IsUnavailable((*runner)->run(request(trial, "bad:1")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument((*runner)->run(request(trial, "refused:1")).status()));
}

TEST_F(InProcessFarm, AResultThatCannotBeParsedIsTheDevicesFailure) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  const absl::Status garbled = (*runner)->run(request(trial, "garbled:1")).status();
  EXPECT_TRUE(absl::IsUnavailable(garbled)) << garbled;
  EXPECT_NE(garbled.message().find("cannot be parsed"), std::string::npos) << garbled;
  EXPECT_TRUE((*runner)->run(request(trial, "good")).ok());
}

TEST_F(InProcessFarm, NamesTheKnownKeysWhenAskedForAnUnknownOne) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  ASSERT_TRUE(connect().ok());
  const auto runner = FarmRunner::connect({.tracker = daemon_->endpoint(), .device_key = "toaster"});
  EXPECT_TRUE(absl::IsNotFound(runner.status()));
  EXPECT_NE(runner.status().message().find("toaster"), std::string::npos) << runner.status();
  EXPECT_NE(runner.status().message().find("known keys: box"), std::string::npos) << runner.status();
}

TEST_F(InProcessFarm, NamesTheRequirementThatNoDeviceMeets) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  ASSERT_TRUE(connect().ok());
  const auto runner =
      FarmRunner::connect({.tracker = daemon_->endpoint(), .device_key = "box", .min_threads = 64});
  EXPECT_TRUE(absl::IsNotFound(runner.status()));
  EXPECT_NE(runner.status().message().find("64 threads"), std::string::npos) << runner.status();
}

TEST_F(InProcessFarm, NoDeviceOfAMachineMeasuresWhileTheGoldenKernelOfAnotherRuns) {
  const auto exclusive_execution = std::make_shared<agent::ExclusiveExecution>();
  AgentThread first({.tracker = daemon_->endpoint(),
                     .key = "first",
                     .id = "box/first",
                     .state_dir = dir_.path() + "/first",
                     .exclusive_execution = exclusive_execution});
  AgentThread second({.tracker = daemon_->endpoint(),
                      .key = "second",
                      .id = "box/second",
                      .state_dir = dir_.path() + "/second",
                      .exclusive_execution = exclusive_execution});
  ASSERT_TRUE(exclusive_execution->begin_golden({}, {}));  // of a third
  std::vector<std::thread> measuring;
  for (const char* key : {"first", "second"}) {
    measuring.emplace_back([this, key] {
      const auto runner = connect(key);
      ASSERT_TRUE(runner.ok()) << runner.status();
      const Trial trial;
      EXPECT_TRUE((*runner)->run(request(trial, "candidate")).ok());
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(first.executor().begun() + second.executor().begun(), 0);
  exclusive_execution->end_golden();
  for (std::thread& thread : measuring) thread.join();
  EXPECT_EQ(first.executor().begun(), 1);
  EXPECT_EQ(second.executor().begun(), 1);
}

TEST_F(InProcessFarm, SecondHolderWaitsUntilTheFirstReleases) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto first = connect();
  ASSERT_TRUE(first.ok()) << first.status();
  const auto busy = FarmRunner::connect(
      {.tracker = daemon_->endpoint(), .device_key = "box", .first_wait = absl::Milliseconds(50)});
  EXPECT_TRUE(absl::IsUnavailable(busy.status())) << busy.status();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    first->reset();
  });
  const auto second = FarmRunner::connect(
      {.tracker = daemon_->endpoint(), .device_key = "box", .first_wait = absl::Seconds(10)});
  later.join();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->leased_device().epoch, 2u);
}

TEST_F(InProcessFarm, StoppedAgentHandsItsLeaseBackAndTheNextOneGoesOn) {
  auto agent = std::make_unique<AgentThread>(
      agent::AgentOptions{.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  const absl::StatusOr<TrialResult> before = (*runner)->run(request(trial, "before"));
  ASSERT_TRUE(before.ok()) << before.status();
  (*runner)->acknowledge(*before);
  agent = nullptr;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    agent = std::make_unique<AgentThread>(
        agent::AgentOptions{.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  });
  const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, "after"));
  later.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->epoch(), 1u);
}

TEST_F(InProcessFarm, SecondAgentWithAnIdIsRefusedAndTheFirstServesOn) {
  AgentThread first({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  const auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  AgentThread second({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/b"});
  const absl::Status refused = second.join();
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              testing::ContainsRegex(
                  "the one at 127.0.0.1:[0-9]+ responds, so the one at 127.0.0.1:[0-9]+ is refused"));
  const Trial trial;
  const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, "after"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->epoch(), 1u) << "the lease went on";
}

TEST_F(InProcessFarm, CancelEndsARunThatWaits) {
  AgentThread agent({.tracker = daemon_->endpoint(), .state_dir = dir_.path() + "/a"});
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  agent.stop();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    (*runner)->cancel();
  });
  const Trial trial;
  EXPECT_TRUE(absl::IsCancelled((*runner)->run(request(trial, "never")).status()));
  later.join();
}

}  // namespace
}  // namespace tf::farm_test
