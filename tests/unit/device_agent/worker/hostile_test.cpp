// Candidates that mean harm: each is contained and typed, and after each the next honest one is measured;
// with the whole sandbox, and with each of its layers alone left out.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <thread>

#include "device_agent/worker/sandbox/job.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using tf::test::candidate;
using tf::test::candidate_with;
using tf::test::Constructor;
using tf::test::serialized;
using tf::worker::Capability;
using tf::worker::Worker;

// What tests/support/kernels/hostile.c forges lies where the harness keeps it.
using tf::worker::sandbox::Result;
static_assert(offsetof(Result, limit_address_bytes) == 24 && offsetof(Result, detail) == 56);
static_assert(offsetof(Result, samples) == 312 && sizeof(Result::samples[0]) == 16 &&
              sizeof(Result) <= 16384);

std::unique_ptr<Worker> worker_without(std::string_view list) {
  auto policy = tf::worker::parse_without_sandbox(list);
  policy->without_missing = true;  // the tests pass on a machine that lacks something
  auto worker = Worker::start({.sandbox = *policy});
  EXPECT_TRUE(worker.ok()) << worker.status();
  return worker.ok() ? *std::move(worker) : nullptr;
}

// Their limits are never reached where everything else is there.
bool only_cgroups_lack(const Worker& worker) {
  const auto cgroup = tf::worker::parse_without_sandbox("cgroup")->without;
  return (worker.without_sandbox().bits & ~cgroup.bits) == 0;
}

bool keeps_from_killing(const Worker& worker) {
  const tf::worker::CapabilitySet without = worker.without_sandbox();
  return !without.contains(Capability::kSeccomp) || !without.contains(Capability::kPidNamespace);
}

constexpr int64_t kShortNs = 300'000'000, kLongNs = 5'000'000'000;

farm::TrialResult run(Worker& worker, const kernel::Artifact& artifact, int64_t timeout_ns = kLongNs) {
  const std::string bytes = serialized(artifact), reference = serialized(candidate("reference"));
  farm::Trial trial = tf::test::trial_of(bytes, reference);
  trial.mutable_limits()->set_run_timeout_ns(timeout_ns);
  trial.mutable_limits()->set_output_bytes(uint64_t{1} << 40);
  auto result = worker.run(trial, bytes, reference);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : farm::TrialResult();
}

struct Hostile {
  const char* entry;
  farm::Outcome outcome;  // with the whole sandbox
  int signal = 0;
};
void PrintTo(const Hostile& each, std::ostream* out) {
  *out << each.entry;
}

farm::TrialResult run(Worker& worker, const Hostile& hostile) {
  const bool ends = hostile.outcome != farm::OUTCOME_TIMED_OUT;
  return run(worker, candidate(hostile.entry), ends ? kLongNs : kShortNs);
}

constexpr Hostile kHostile[] = {
    {"segfaults", farm::OUTCOME_CRASHED, SIGSEGV},
    {"aborts", farm::OUTCOME_CRASHED, SIGABRT},
    {"exits_as_if_done", farm::OUTCOME_CRASHED},
    {"spins", farm::OUTCOME_TIMED_OUT},
    {"sleeps", farm::OUTCOME_TIMED_OUT},
    {"ignores_every_signal", farm::OUTCOME_TIMED_OUT},
    {"faults_for_ever", farm::OUTCOME_TIMED_OUT},
    {"floods_for_ever", farm::OUTCOME_TIMED_OUT},
    {"allocates_without_end", farm::OUTCOME_OUT_OF_MEMORY},
    {"bombs_with_processes", farm::OUTCOME_OK},
    {"leaves_a_child_behind", farm::OUTCOME_OK},
    {"fills_the_disk", farm::OUTCOME_OK},
    {"opens_sockets", farm::OUTCOME_OK},
    {"traces_others", farm::OUTCOME_OK},
    {"kills_everybody", farm::OUTCOME_OK},
    {"writes_its_own_code", farm::OUTCOME_OK},
    {"reads_files", farm::OUTCOME_OK},
    {"asks_for_more", farm::OUTCOME_OK},
    {"closes_descriptors", farm::OUTCOME_OK},
    {"forges_fast_samples", farm::OUTCOME_IMPLAUSIBLE},
    {"forges_more_time_than_there_was", farm::OUTCOME_IMPLAUSIBLE},
    {"forges_trouble_of_ours", farm::OUTCOME_IMPLAUSIBLE},
};

void expect_nothing_left_behind() {
  for (const char* path :
       {"/tmp/tf_candidate_was_here", "/var/tmp/tf_candidate_was_here", "/dev/shm/tf_candidate_was_here",
        "/tf_candidate_was_here", "tf_candidate_was_here", "/tmp/tf_candidate_folder"}) {
    struct stat file;
    EXPECT_NE(stat(path, &file), 0) << path;
  }
}

void expect_next_is_measured(Worker& worker, std::string_view after) {
  const farm::TrialResult next = run(worker, candidate("good"));
  EXPECT_EQ(farm::Outcome_Name(next.outcome()), "OUTCOME_OK") << "after " << after << ": " << next.detail();
  EXPECT_EQ(next.printed(), "") << "after " << after;
}

class HostileCandidate : public testing::TestWithParam<Hostile> {
 protected:
  static void SetUpTestSuite() { worker_ = worker_without("").release(); }
  static void TearDownTestSuite() { delete worker_; }
  static Worker* worker_;
};
Worker* HostileCandidate::worker_ = nullptr;

TEST_P(HostileCandidate, IsContainedAndTyped) {
  ASSERT_NE(worker_, nullptr);
  if (!only_cgroups_lack(*worker_)) GTEST_SKIP() << "this machine lacks a part of the sandbox";
  const Hostile& hostile = GetParam();
  const farm::TrialResult result = run(*worker_, hostile);
  EXPECT_EQ(farm::Outcome_Name(result.outcome()), farm::Outcome_Name(hostile.outcome)) << result.detail();
  EXPECT_EQ(result.signal(), hostile.signal) << result.detail();
  EXPECT_LE(result.printed().size(), 64u << 10);
  expect_nothing_left_behind();
  expect_next_is_measured(*worker_, hostile.entry);
}

INSTANTIATE_TEST_SUITE_P(All, HostileCandidate, testing::ValuesIn(kHostile),
                         [](const auto& one) { return std::string(one.param.entry); });

// What remains contains them still, whatever they are called then.
class HostileCandidates : public testing::TestWithParam<const char*> {};

TEST_P(HostileCandidates, AreContainedWithOneLayerLess) {
  const std::unique_ptr<Worker> worker = worker_without(GetParam());
  ASSERT_NE(worker, nullptr);
  if (!keeps_from_killing(*worker)) GTEST_SKIP() << "they would kill whatever else this user runs";
  for (const Hostile& hostile : kHostile) {
    const farm::TrialResult result = run(*worker, hostile);
    EXPECT_NE(result.outcome(), farm::OUTCOME_UNSPECIFIED) << hostile.entry;
    expect_nothing_left_behind();
    expect_next_is_measured(*worker, hostile.entry);
  }
}

INSTANTIATE_TEST_SUITE_P(Without, HostileCandidates,
                         testing::Values("namespaces", "cgroup", "seccomp", "landlock"),
                         [](const auto& one) { return std::string(one.param); });

TEST(HostileCandidateEver, IsNeitherTheFirstNorTheLastThatEnds) {
  const std::unique_ptr<Worker> worker = worker_without("");
  ASSERT_NE(worker, nullptr);
  EXPECT_NE(run(*worker, candidate("jumps_back"), kShortNs).outcome(), farm::OUTCOME_UNSPECIFIED);
  expect_next_is_measured(*worker, "jumps_back");
}

TEST(HostileConstructor, IsTheCandidatesFault) {
  const std::unique_ptr<Worker> worker = worker_without("");
  ASSERT_NE(worker, nullptr);
  if (!only_cgroups_lack(*worker)) GTEST_SKIP() << "this machine lacks a part of the sandbox";
  const std::pair<Constructor, farm::Outcome> cases[] = {
      {Constructor::kSegfaults, farm::OUTCOME_CRASHED},
      {Constructor::kExits, farm::OUTCOME_CRASHED},
      {Constructor::kSpins, farm::OUTCOME_TIMED_OUT},
      {Constructor::kClosesDescriptors, farm::OUTCOME_IMPLAUSIBLE},
      {Constructor::kReadsFiles, farm::OUTCOME_OK},
  };
  for (const auto& [constructor, outcome] : cases) {
    const farm::TrialResult result = run(*worker, candidate_with(constructor), kShortNs);
    EXPECT_EQ(farm::Outcome_Name(result.outcome()), farm::Outcome_Name(outcome))
        << static_cast<int>(constructor) << ": " << result.detail();
    expect_next_is_measured(*worker, "a constructor");
  }
}

// 128 GiB of answers, by the word of the candidate, of its reference or of both.
TEST(HostileManifest, WithHugeOutputsTakesNothingFromTheMachine) {
  const tf::test::Extents huge = {.m = 1 << 17, .n = 1 << 17, .k = 1};
  const std::string bytes = serialized(candidate("good", huge));
  const std::string reference = serialized(candidate("reference", huge));
  for (const char* without : {"", "cgroup"}) {
    const std::unique_ptr<Worker> worker = worker_without(without);
    ASSERT_NE(worker, nullptr);
    const farm::Trial alone = tf::test::trial_of(bytes, ""), both = tf::test::trial_of(bytes, reference);
    const auto result = worker->run(alone, bytes, "");
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->outcome(), farm::OUTCOME_OUT_OF_MEMORY) << result->detail();
    const absl::Status refused = worker->run(both, bytes, reference).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("its buffers need"));
    expect_next_is_measured(*worker, "huge outputs");
  }
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child; file >> child;) found.push_back(child);
  return found;
}

std::string status_of(pid_t pid) {
  std::stringstream text;
  text << std::ifstream("/proc/" + std::to_string(pid) + "/status").rdbuf();
  return text.str();
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found = children_of(pid);
  for (size_t i = 0; i < found.size(); ++i) {
    for (const pid_t child : children_of(found[i])) found.push_back(child);
  }
  return found;
}

// Ended within some seconds, also where nobody has asked how.
bool all_gone(const std::vector<pid_t>& pids) {
  for (int i = 0; i < 500; ++i) {
    const bool gone = std::ranges::all_of(pids, [](pid_t pid) {
      const std::string status = status_of(pid);
      return status.empty() || status.find("State:\tZ") != std::string::npos;
    });
    if (gone) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(TheHelper, HasNoCapabilityAndGainsNone) {
  const std::unique_ptr<Worker> worker = worker_without("");
  ASSERT_NE(worker, nullptr);
  ASSERT_EQ(run(*worker, candidate("good")).outcome(), farm::OUTCOME_OK);
  const std::vector<pid_t> helpers = descendants_of(getpid());
  ASSERT_FALSE(helpers.empty());
  for (const pid_t pid : helpers) {
    EXPECT_THAT(status_of(pid), testing::HasSubstr("CapEff:\t0000000000000000\n"));
    EXPECT_THAT(status_of(pid), testing::HasSubstr("CapPrm:\t0000000000000000\n"));
    EXPECT_THAT(status_of(pid), testing::HasSubstr("NoNewPrivs:\t1\n"));
    if (getuid() == 0) {
      EXPECT_THAT(status_of(pid), testing::Not(testing::HasSubstr("Uid:\t0\t")));
    }
  }
}

TEST(TheHelper, IsAnotherOneInTheNextSandbox) {
  const std::unique_ptr<Worker> worker = worker_without("");
  ASSERT_NE(worker, nullptr);
  ASSERT_EQ(run(*worker, candidate("good")).outcome(), farm::OUTCOME_OK);
  const std::vector<pid_t> before = descendants_of(getpid());
  ASSERT_FALSE(before.empty());
  const absl::Status renewed = worker->renew_sandbox();
  ASSERT_TRUE(renewed.ok()) << renewed;
  EXPECT_TRUE(all_gone(before)) << "a process of the sandbox before lives on";
  ASSERT_EQ(run(*worker, candidate("good")).outcome(), farm::OUTCOME_OK);
}

// With root's own rights instead, as in a container that has no user namespaces; another user has no others.
TEST(TheHelper, DiesWithTheWorkerWithoutAUserNamespaceToo) {
  const std::unique_ptr<Worker> worker = worker_without("user-namespace,cgroup");
  ASSERT_NE(worker, nullptr);
  const size_t helpers = descendants_of(getpid()).size();
  std::vector<pid_t> seen;  // the helpers, and the candidate that they run
  std::thread canceller([&] {
    for (int i = 0; i < 1000 && seen.size() <= helpers; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      seen = descendants_of(getpid());
    }
    worker->cancel();
  });
  const std::string spins = serialized(candidate("spins"));
  farm::Trial trial = tf::test::trial_of(spins, "");
  trial.mutable_limits()->set_run_timeout_ns(60'000'000'000);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(worker->run(trial, spins, "").status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30)) << "its time limit ended it";
  canceller.join();
  EXPECT_TRUE(all_gone(seen)) << "a helper, or the candidate, lives on";
}

TEST(HostileOutput, IsKeptUpToALimitWhateverTheTrialAsksFor) {
  const std::unique_ptr<Worker> worker = worker_without("");
  ASSERT_NE(worker, nullptr);
  const farm::TrialResult result = run(*worker, candidate("floods_for_ever"), kShortNs);
  EXPECT_EQ(result.printed(), std::string(64 << 10, 'x'));
}

}  // namespace
