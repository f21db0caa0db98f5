#include "device_agent/agent/golden/golden_kernel.h"

#include "device_agent/agent/machine/facts.h"
#include "device_agent/agent/trials/executor.h"
#include "device_agent/agent/trials/worker_executor.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

using tunefarm::farm::v1::GoldenSample;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

// Says what it was told to.
class ScriptedExecutor final : public TrialExecutor {
 public:
  explicit ScriptedExecutor(std::vector<int64_t> times_ns) : times_ns_(std::move(times_ns)) {}
  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<TrialResult> run(const Trial& trial, std::string_view candidate, std::string_view,
                                  std::stop_token) override {
    EXPECT_FALSE(candidate.empty());
    TrialResult result;
    result.set_outcome(times_ns_.empty() ? tunefarm::farm::v1::OUTCOME_CRASHED
                                         : tunefarm::farm::v1::OUTCOME_OK);
    result.set_artifact_digest(trial.artifact_digest());
    result.mutable_device()->set_temperature_c(55);
    for (const int64_t time_ns : times_ns_) {
      auto& sample = *result.add_samples();
      sample.set_total_ns(2 * time_ns);
      sample.set_iterations(2);
    }
    return result;
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }

 private:
  const std::vector<int64_t> times_ns_;
};

GoldenSample sample(TrialExecutor& executor) {
  GoldenSample sample;
  EXPECT_TRUE(sample.ParseFromString(GoldenKernel().sample(3, executor, {})));
  return sample;
}

TEST(GoldenKernel, StatesTheMedianRunItsSpreadAndTheDevice) {
  ScriptedExecutor executor({1200, 1000, 1100});
  const GoldenSample golden = sample(executor);
  EXPECT_EQ(golden.slot(), 3u);
  EXPECT_EQ(golden.time_ns(), 1100);
  EXPECT_NEAR(golden.spread(), 200.0 / 1100, 1e-9);
  EXPECT_EQ(golden.device().temperature_c(), 55);
  EXPECT_EQ(golden.kernel().size(), 16u);
}

TEST(GoldenKernel, OnADeviceWhereItDoesNotEndWellTheSampleHasNoTimeAndSaysWhy) {
  ScriptedExecutor executor({});
  const GoldenSample golden = sample(executor);
  EXPECT_EQ(golden.time_ns(), 0);
  EXPECT_NE(golden.detail().find("OUTCOME_CRASHED"), std::string::npos) << golden.detail();
}

TEST(GoldenKernel, RunsInTheSandboxLikeAnyCandidate) {
  const auto worker = worker::Worker::start({.sandbox = {.without = {}, .without_missing = true},
                                             .cpus = {static_cast<int>(allowed_cpus().front())}});
  ASSERT_TRUE(worker.ok()) << worker.status();
  WorkerExecutor executor(**worker);
  const GoldenSample first = sample(executor), second = sample(executor);
  EXPECT_GT(first.time_ns(), 100'000);
  EXPECT_LT(first.time_ns(), 1'000'000'000);
  EXPECT_EQ(first.kernel(), second.kernel()) << "the same code, so that their times compare";
}

}  // namespace
}  // namespace tf::agent
