// A trial that is ended from outside, and what a trial may not ask for.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::test::candidate;
using tf::test::serialized;
using tf::test::trial_of;
using tf::worker::Worker;
using tf::worker::WorkerOptions;

std::unique_ptr<Worker> start(WorkerOptions options = {}) {
  options.sandbox.without_missing = true;
  auto worker = Worker::start(std::move(options));
  EXPECT_TRUE(worker.ok()) << worker.status();
  return *std::move(worker);
}

absl::StatusOr<farm::TrialResult> run(Worker& worker, const std::string& entry,
                                      const std::function<void(farm::Limits&)>& change = nullptr,
                                      std::stop_token end = {}) {
  const std::string bytes = serialized(candidate(entry));
  farm::Trial trial = trial_of(bytes, "");
  if (change) change(*trial.mutable_limits());
  return worker.run(trial, bytes, "", std::move(end));
}

void a_minute(farm::Limits& limits) {
  limits.set_run_timeout_ns(60'000'000'000);
}

void expect_next_is_measured(Worker& worker) {
  const auto next = run(worker, "good");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->outcome(), farm::OUTCOME_OK) << next->detail();
}

TEST(WorkerEnding, KillsTheTrialThatRunsAndNoOther) {
  const auto worker = start();
  std::stop_source end;
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    end.request_stop();
  });
  EXPECT_EQ(run(*worker, "spins", a_minute, end.get_token()).status().code(), absl::StatusCode::kCancelled);
  ending.join();
  expect_next_is_measured(*worker);
}

TEST(WorkerEnding, OfATrialThatHasNotBegunMeansThatItNeverDoes) {
  const auto worker = start();
  std::stop_source end;
  end.request_stop();
  EXPECT_EQ(run(*worker, "spins", a_minute, end.get_token()).status().code(), absl::StatusCode::kCancelled);
  expect_next_is_measured(*worker);
}

TEST(WorkerLimits, ATrialThatWantsToRunForTooLongIsRefused) {
  const auto worker = start({.longest_run_ns = 50'000'000'000});
  const absl::Status refused = run(*worker, "good", a_minute).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("the limit is 50 s"));
  expect_next_is_measured(*worker);
}

TEST(WorkerLimits, ACandidateGetsNoMoreMemoryThanThereIsToGive) {
  const auto worker = start({.most_memory_bytes = (256 + 16) << 20});  // a thread has 16
  const auto result = run(*worker, "allocates_without_end",
                          [](farm::Limits& limits) { limits.set_memory_bytes(uint64_t{1} << 40); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome(), farm::OUTCOME_OUT_OF_MEMORY) << result->detail();
  EXPECT_THAT(result->detail(), testing::HasSubstr("256 MiB"));
  expect_next_is_measured(*worker);
}

// A limit on the size of files stands for memory that there is not: whoever asks for the result memory hears
// of it.
TEST(WorkerLimits, OutputsThatAreLargerThanTheMemoryAreNotEvenAskedFor) {
  const auto worker = start({.most_memory_bytes = 512 << 20});
  const std::string bytes = serialized(candidate("good", {.m = 1 << 14, .n = 1 << 14, .k = 1}));
  farm::Trial trial = trial_of(bytes, "");
  trial.mutable_limits()->set_memory_bytes(uint64_t{1} << 40);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 64 << 20, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto result = worker->run(trial, bytes, "");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome(), farm::OUTCOME_OUT_OF_MEMORY) << result->detail();
  EXPECT_THAT(result->detail(), testing::HasSubstr("its buffers need 4096 MiB, but the limit is 496 MiB"));
  expect_next_is_measured(*worker);
}

}  // namespace
