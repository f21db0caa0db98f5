// The real device_agent with its sandboxed worker, behind a real tracker: hostile candidates become outcomes,
// and the agent and the job go on.

#include <gtest/gtest.h>

#include <thread>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/farm/harness.h"
#include "tests/support/candidates/candidates.h"

namespace tf::farm_test {
namespace {

using measure::FarmRunner;
using tunefarm::farm::v1::Outcome;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

class RealWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 500 && !runner_; ++i) {
      auto runner =
          FarmRunner::connect({.tracker = endpoint_, .device_key = "box", .first_wait = absl::Seconds(20)});
      if (runner.ok()) runner_ = *std::move(runner);
      if (!runner_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_TRUE(runner_);
  }

  absl::StatusOr<TrialResult> measure(const std::string& entry) {
    const std::string candidate = tf::test::serialized(tf::test::candidate(entry));
    const std::string reference = tf::test::serialized(tf::test::candidate("reference"));
    Trial trial = tf::test::trial_of(candidate, reference);
    trial.mutable_limits()->set_run_timeout_ns(2'000'000'000);
    absl::StatusOr<TrialResult> result = runner_->run(request(trial, candidate, reference));
    if (result.ok()) runner_->acknowledge(*result);
    return result;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const rpc::Endpoint endpoint_ = free_endpoint();
  Process tracker_{
      {program("tracker"), "serve", "--listen", endpoint_.text(), "--state", dir_.path() + "/tracker.db"},
      dir_.path() + "/output"};
  Process agent_{{program("device_agent"), "--tracker", endpoint_.text(), "--key", "box", "--cpus", "0",
                  "--state-dir", dir_.path() + "/agent", "--without-sandbox", "missing"},
                 dir_.path() + "/output"};
  std::unique_ptr<FarmRunner> runner_;
};

TEST_F(RealWorkerTest, GoodCandidateIsTimedAndNamed) {
  const absl::StatusOr<TrialResult> result = measure("good");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome(), Outcome::OUTCOME_OK) << result->detail();
  EXPECT_GT(result->samples_size(), 0);
  EXPECT_EQ(result->device().fingerprint(), runner_->device()->fingerprint());
  EXPECT_FALSE(result->device().fingerprint().empty());
  EXPECT_GT(runner_->peak_gflops(), 0);
  EXPECT_EQ(result->lease_id(), runner_->leased_device().lease_id);
}

TEST_F(RealWorkerTest, HostileCandidatesBecomeOutcomesAndTheNextOneIsMeasured) {
  const std::vector<std::pair<std::string, Outcome>> cases = {
      {"segfaults", Outcome::OUTCOME_CRASHED},
      {"spins", Outcome::OUTCOME_TIMED_OUT},
      {"allocates_without_end", Outcome::OUTCOME_OUT_OF_MEMORY},
      {"wrong", Outcome::OUTCOME_WRONG_OUTPUT},
  };
  for (const auto& [entry, outcome] : cases) {
    const absl::StatusOr<TrialResult> hostile = measure(entry);
    ASSERT_TRUE(hostile.ok()) << entry << hostile.status();
    EXPECT_EQ(hostile->outcome(), outcome) << entry << ": " << hostile->detail();
    const absl::StatusOr<TrialResult> good = measure("good");
    ASSERT_TRUE(good.ok()) << good.status();
    EXPECT_EQ(good->outcome(), Outcome::OUTCOME_OK) << "after " << entry << ": " << good->detail();
  }
}

TEST_F(RealWorkerTest, MalformedTrialIsRefusedAndNotRetried) {
  Trial trial;  // no options, no limits
  const std::string candidate = tf::test::serialized(tf::test::candidate("good"));
  EXPECT_TRUE(absl::IsInvalidArgument(runner_->run(request(trial, candidate)).status()));
}

}  // namespace
}  // namespace tf::farm_test
