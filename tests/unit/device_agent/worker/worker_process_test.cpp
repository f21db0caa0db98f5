// Workers as processes: how they start, end, are cancelled and replaced, and which CPUs they use.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "device_agent/worker/device_state.h"
#include "tests/support/candidates/candidates.h"
#include "tests/unit/device_agent/worker/worker_support.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::test::candidate;
using tf::test::serialized;
using tf::test::trial_of;
using tf::worker::anywhere;
using tf::worker::Worker;

TEST(WorkerStart, SaysWhichProgramIsMissing) {
  const auto started = Worker::start({.program = "/nowhere/trial_worker"});
  EXPECT_EQ(started.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(started.status().message()), testing::HasSubstr("/nowhere/trial_worker"));
}

// A program that becomes the zygote with so little address space that nothing large fits beside it.
std::string starved_program() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "trial_worker";
  const std::string path = testing::TempDir() + "starved_trial_worker";
  std::ofstream(path) << "#!/bin/sh\nulimit -v 40000\nexec " << program << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(WorkerWithoutMemory, MeasuresNothingRatherThanWarmConstants) {
  if (tf::worker::DeviceProbe({}).last_cache_bytes() < 20 << 20)
    GTEST_SKIP() << "flush buffers are small here";
  auto worker = *Worker::start(anywhere({.program = starved_program()}));
  const std::string good = serialized(candidate("good"));
  farm::Trial trial = trial_of(good, "");
  trial.mutable_options()->set_reuse_distance_bytes(1 << 30);
  const absl::Status status = worker->run(trial, good, "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("of the flush buffer"));
}

TEST(WorkerCancel, EndsARunningTrialAndEveryLaterOne) {
  auto worker = *Worker::start(anywhere());
  const std::string spins = serialized(candidate("spins"));
  farm::Trial trial = trial_of(spins, "");
  trial.mutable_limits()->set_run_timeout_ns(60'000'000'000);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    worker->cancel();
  });
  EXPECT_EQ(worker->run(trial, spins, "").status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ(worker->run(trial, spins, "").status().code(), absl::StatusCode::kCancelled);
}

// Pids of this process's children.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::ifstream file("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t pid; file >> pid;) found.push_back(pid);
  return found;
}

TEST(WorkerRestart, ADeadHelperCostsOneTrialThatCanBeTriedAgain) {
  auto worker = *Worker::start(anywhere());
  const std::string good = serialized(candidate("good"));
  ASSERT_TRUE(worker->run(trial_of(good, ""), good, "").ok());
  const std::vector<pid_t> before = children();
  ASSERT_EQ(before.size(), 1u);
  kill(before[0], SIGKILL);
  EXPECT_EQ(worker->run(trial_of(good, ""), good, "").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(worker->run(trial_of(good, ""), good, "").ok());
}

TEST(WorkerOrphans, NothingSurvivesAKilledParent) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // whoever loses its parent becomes our child
  const pid_t parent = fork();
  if (parent == 0) {
    auto worker = *Worker::start(anywhere());
    const std::string spins = serialized(candidate("spins"));
    farm::Trial trial = trial_of(spins, "");
    trial.mutable_limits()->set_run_timeout_ns(60'000'000'000);
    (void)worker->run(trial, spins, "");
    _exit(0);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(parent, SIGKILL);
  int reaped = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid < 0) break;
    reaped += pid > 0;
    if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(children().empty()) << "a helper or a candidate outlived its parent by 10 s";
  EXPECT_GE(reaped, 2) << "the parent and its helper";
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

// A worker with a CPU to make the next trial ready on.
class WorkerAhead : public testing::Test {
 protected:
  farm::TrialResult run(const std::string& entry, int64_t timeout_ns) {
    const std::string bytes = serialized(candidate(entry)), reference = serialized(candidate("reference"));
    farm::Trial trial = trial_of(bytes, reference);
    trial.mutable_limits()->set_run_timeout_ns(timeout_ns);
    const auto result = worker_->run(trial, bytes, reference);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : farm::TrialResult();
  }

  std::unique_ptr<Worker> worker_ = *Worker::start(anywhere({.cpus = {0}, .spare_cpus = {1}}));
};

TEST_F(WorkerAhead, TheTimeLimitCountsFromATrialsTurn) {
  run("good", 5'000'000'000);  // the reference's answers are there
  std::thread other([&] { EXPECT_OUTCOME(run("spins", 600'000'000), OUTCOME_TIMED_OUT); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_OUTCOME(run("good", 300'000'000), OUTCOME_OK);
  other.join();
}

TEST_F(WorkerAhead, CancellingEndsTheTrialThatWaitsToo) {
  const std::string spins = serialized(candidate("spins"));
  farm::Trial trial = trial_of(spins, "");
  trial.mutable_limits()->set_run_timeout_ns(60'000'000'000);
  auto expect_cancelled = [&] {
    EXPECT_EQ(worker_->run(trial, spins, "").status().code(), absl::StatusCode::kCancelled);
  };
  std::thread one(expect_cancelled), two(expect_cancelled);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  worker_->cancel();
  one.join();
  two.join();
}

TEST_F(WorkerAhead, TrialsAreTimedOneAfterAnother) {
  std::vector<std::pair<int64_t, int64_t>> timed;
  std::mutex mutex;
  auto run_some = [&] {
    for (int i = 0; i < 8; ++i) {
      const farm::TrialResult result = run("good", 5'000'000'000);
      EXPECT_OUTCOME(result, OUTCOME_OK);
      std::lock_guard lock(mutex);
      timed.emplace_back(result.timed_from_ns(), result.timed_until_ns());
    }
  };
  std::thread other(run_some);
  run_some();
  other.join();
  std::sort(timed.begin(), timed.end());
  for (size_t i = 1; i < timed.size(); ++i) EXPECT_GE(timed[i].first, timed[i - 1].second);
}

TEST(WorkerPinning, RunsOnTheGivenCpus) {
  auto worker = *Worker::start(anywhere({.cpus = {0}}));
  const std::string good = serialized(candidate("good"));
  const auto result = worker->run(trial_of(good, ""), good, "");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome(), farm::OUTCOME_OK) << result->detail();
  EXPECT_EQ(Worker::start({.cpus = {-1}}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
