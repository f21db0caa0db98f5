// Real processes, killed with SIGKILL during a job: the job goes on, and nothing acknowledged is lost or
// counted twice.

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/farm/harness.h"
#include "tests/farm/stored_candidates.h"

namespace tf::farm_test {
namespace {

using measure::FarmRunner;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

class KillTest : public testing::Test {
 protected:
  void SetUp() override {
    start_tracker();
    start_agent();
  }

  void TearDown() override {
    if (!HasFailure()) return;
    for (const std::string& line : lines_of(dir_.path() + "/output"))
      std::fprintf(stderr, "  %s\n", line.c_str());
  }

  void start_tracker() {
    tracker_ = std::make_unique<Process>(
        std::vector<std::string>{program("tracker"), "serve", "--listen", endpoint_.text(), "--state",
                                 dir_.path() + "/tracker.db", "--agent-grace-seconds", agent_grace_s_},
        dir_.path() + "/output");
  }

  void start_agent() {
    agent_ = std::make_unique<Process>(
        std::vector<std::string>{program("farm_test_agent"), endpoint_.text(), "box", dir_.path() + "/agent",
                                 "5", dir_.path() + "/runs"},
        dir_.path() + "/output");
  }

  absl::StatusOr<std::unique_ptr<FarmRunner>> connect(const std::string& holder = "test") {
    absl::Status last;
    for (int i = 0; i < 500; ++i) {
      auto runner = FarmRunner::connect({.tracker = endpoint_,
                                         .device_key = "box",
                                         .holder = holder,
                                         .first_wait = absl::Seconds(20),
                                         .term = absl::Seconds(6)});
      if (runner.ok()) return runner;
      last = runner.status();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return last;
  }

  // A job of `count` trials from two threads. What is in `stored` counts as durable: it is acknowledged after
  // that.
  void run_job(FarmRunner& runner, int count, const std::function<void(int done)>& after_each) {
    std::atomic<int> next = 0;
    const auto work = [&] {
      for (int i = next++; i < count; i = next++) {
        const std::string candidate = "candidate " + std::to_string(i);
        const Trial trial;
        const absl::StatusOr<TrialResult> result = runner.run(request(trial, candidate, "reference"));
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->detail(), candidate);
        int done = 0;
        {
          const std::scoped_lock lock(mutex_);
          const Key key{result->lease_id(), result->epoch(), result->sequence()};
          EXPECT_TRUE(stored_.emplace(key, candidate).second) << "stored twice: " << candidate;
          done = static_cast<int>(stored_.size());
        }
        runner.acknowledge(*result);
        after_each(done);
      }
    };
    std::thread other(work);
    work();
    other.join();
  }

  void expect_each_stored_once(int count) {
    std::map<std::string, int> times;
    for (const auto& [key, candidate] : stored_) ++times[candidate];
    EXPECT_EQ(times.size(), static_cast<size_t>(count));
    for (const auto& [candidate, n] : times) EXPECT_EQ(n, 1) << candidate;
  }

  using Key = std::tuple<std::string, uint64_t, uint64_t>;

  std::string agent_grace_s_ = "30";
  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const rpc::Endpoint endpoint_ = free_endpoint();
  std::unique_ptr<Process> tracker_;
  std::unique_ptr<Process> agent_;
  std::mutex mutex_;
  std::map<Key, std::string> stored_;
};

TEST_F(KillTest, JobSurvivesTheTracker) {
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::string lease = (*runner)->leased_device().lease_id;
  run_job(**runner, 120, [&](int done) {
    if (done != 20 && done != 60) return;
    tracker_->kill_9();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    start_tracker();
  });
  expect_each_stored_once(120);
  // The same lease served the whole job, so the agent ran nothing twice either.
  EXPECT_EQ((*runner)->leased_device().lease_id, lease);
  EXPECT_EQ(lines_of(dir_.path() + "/runs").size(), 120u);
}

TEST_F(KillTest, JobSurvivesTheAgent) {
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::string lease = (*runner)->leased_device().lease_id;
  run_job(**runner, 120, [&](int done) {
    if (done != 20 && done != 60) return;
    agent_->kill_9();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    start_agent();
  });
  expect_each_stored_once(120);
  EXPECT_EQ((*runner)->leased_device().lease_id, lease);
  // What ran when the agent died was not acknowledged, and ran again.
  EXPECT_LE(lines_of(dir_.path() + "/runs").size(), 124u);
}

TEST_F(KillTest, JobSurvivesTrackerAndAgentAtOnce) {
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  run_job(**runner, 80, [&](int done) {
    if (done != 30) return;
    tracker_->kill_9();
    agent_->kill_9();
    start_agent();  // before its tracker is there
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    start_tracker();
  });
  expect_each_stored_once(80);
}

TEST_F(KillTest, JobSurvivesTheTuner) {
  const std::string database = dir_.path() + "/tuned.db";
  const auto stored = [&] { return stored_rows(database).value_or(std::vector<StoredRow>()); };
  const auto start_tuner = [&] {
    return std::make_unique<Process>(
        std::vector<std::string>{program("farm_test_tuner"), endpoint_.text(), "box", "100", database},
        dir_.path() + "/output");
  };
  ASSERT_TRUE(connect().ok());  // the key is known
  for (const size_t kill_at : {20, 50}) {
    const auto tuner = start_tuner();
    while (stored().size() < kill_at) {
      ASSERT_FALSE(tuner->exited_within(5));
    }
    tuner->kill_9();
  }
  // Its own lease does not keep it waiting: the new run ends the dead one's.
  EXPECT_EQ(start_tuner()->wait(), 0);
  EXPECT_EQ(stored().size(), 100u);
  EXPECT_EQ(check_history({}, stored()), std::vector<std::string>());
}

TEST_F(KillTest, UnknownKeyEndsATunerWithExitCodeThree) {
  ASSERT_TRUE(connect().ok());
  const std::string output = dir_.path() + "/tuner";
  Process tuner({program("farm_test_tuner"), endpoint_.text(), "toaster", "1", dir_.path() + "/tuned.db"},
                output);
  EXPECT_EQ(tuner.wait(), 3);
  EXPECT_NE(lines_of(output).at(0).find("known keys: box"), std::string::npos);
}

TEST_F(KillTest, AgentThatStaysAwayLosesItsLeaseAndTheJobGoesOnUnderANewOne) {
  tracker_->kill_9();
  agent_grace_s_ = "1";
  start_tracker();
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const uint64_t first_epoch = (*runner)->leased_device().epoch;
  std::thread later;
  run_job(**runner, 40, [&](int done) {
    if (done != 20) return;
    agent_->kill_9();
    later = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      start_agent();
    });
  });
  later.join();
  expect_each_stored_once(40);
  EXPECT_GT((*runner)->leased_device().epoch, first_epoch);
}

TEST_F(KillTest, EpochsGrowAcrossRestartsOfTheTracker) {
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    auto runner = connect();
    ASSERT_TRUE(runner.ok()) << runner.status();
    EXPECT_GT((*runner)->leased_device().epoch, last);
    last = (*runner)->leased_device().epoch;
    runner->reset();
    tracker_->kill_9();
    start_tracker();
  }
}

TEST_F(KillTest, TrackerThatLostItsStateGrantsAboveWhatTheAgentHasServed) {
  {
    auto runner = connect();
    ASSERT_TRUE(runner.ok()) << runner.status();
    run_job(**runner, 5, [](int) {});
  }
  const uint64_t served = std::get<1>(stored_.begin()->first);
  tracker_->kill_9();
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((dir_.path() + "/tracker.db" + suffix).c_str());
  start_tracker();
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_GT((*runner)->leased_device().epoch, served);
  const Trial trial;
  EXPECT_TRUE((*runner)->run(request(trial, "once more")).ok());
}

TEST_F(KillTest, StoppedAgentEndsWithExitCodeZero) {
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  agent_->signal(SIGTERM);
  ASSERT_TRUE(agent_->exited_within(10000));
  EXPECT_EQ(agent_->wait(), 0);
}

TEST_F(KillTest, SecondTrackerOnThePortEndsWithOneClearLine) {
  ASSERT_TRUE(connect().ok());
  const std::string output = dir_.path() + "/second";
  Process second(
      {program("tracker"), "serve", "--listen", endpoint_.text(), "--state", dir_.path() + "/other.db"},
      output);
  EXPECT_EQ(second.wait(), 1);
  const std::vector<std::string> lines = lines_of(output);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("the port is in use"), std::string::npos) << lines[0];
}

TEST_F(KillTest, SecondTrackerOnTheStateFileEndsWithOneClearLine) {
  ASSERT_TRUE(connect().ok());
  const std::string output = dir_.path() + "/second";
  Process second(
      {program("tracker"), "serve", "--listen", "127.0.0.1:0", "--state", dir_.path() + "/tracker.db"},
      output);
  EXPECT_EQ(second.wait(), 1);
  EXPECT_EQ(lines_of(output).size(), 1u);
}

}  // namespace
}  // namespace tf::farm_test
