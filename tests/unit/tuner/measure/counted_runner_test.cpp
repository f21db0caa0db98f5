#include "tuner/measure/counted_runner.h"

#include <map>

#include "proto/farm/v1/trial.pb.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

class ScriptedRunner final : public Runner {
 public:
  absl::StatusOr<pb::TrialResult> run(const MeasureRequest&) override { return answer; }
  void acknowledge(const pb::TrialResult&) override { ++acknowledged; }
  int slots() const override { return 3; }
  absl::StatusOr<pb::DeviceState> device() override { return pb::DeviceState(); }
  double peak_gflops() override { return 42; }
  uint32_t gpu_units() override { return 14; }
  void cancel() override { cancelled = true; }

  absl::StatusOr<pb::TrialResult> answer;
  int acknowledged = 0;
  bool cancelled = false;
};

double value_of(const TrialTally& tally, const std::string& name, const std::string& outcome = "") {
  for (const rpc::MetricFamily& family : tally.families()) {
    if (family.name != name) continue;
    for (const rpc::MetricSample& sample : family.samples) {
      if (outcome.empty() || sample.labels.at("outcome") == outcome) return sample.value;
    }
  }
  return -1;
}

TEST(CountedRunner, CountsTrialsByOutcomeAndWhatIsDurable) {
  ScriptedRunner runner;
  TrialTally tally;
  CountedRunner counted(runner, tally);
  pb::TrialResult result;
  result.set_outcome(pb::OUTCOME_OK);
  runner.answer = result;
  EXPECT_TRUE(counted.run({}).ok());
  counted.acknowledge(result);
  result.set_outcome(pb::OUTCOME_TIMED_OUT);
  runner.answer = result;
  EXPECT_TRUE(counted.run({}).ok());
  runner.answer = absl::UnavailableError("away");
  EXPECT_TRUE(absl::IsUnavailable(counted.run({}).status()));
  EXPECT_EQ(value_of(tally, "tunefarm_tuner_trials_total", "ok"), 1);
  EXPECT_EQ(value_of(tally, "tunefarm_tuner_trials_total", "timed_out"), 1);
  EXPECT_EQ(value_of(tally, "tunefarm_tuner_trials_total", "not_measured"), 1);
  EXPECT_EQ(value_of(tally, "tunefarm_tuner_trials_running"), 0);
  EXPECT_EQ(value_of(tally, "tunefarm_tuner_results_durable_total"), 1);
  EXPECT_EQ(runner.acknowledged, 1);
}

TEST(CountedRunner, PassesEverythingElseOn) {
  ScriptedRunner runner;
  TrialTally tally;
  CountedRunner counted(runner, tally);
  EXPECT_EQ(counted.slots(), 3);
  EXPECT_EQ(counted.peak_gflops(), 42);
  EXPECT_EQ(counted.gpu_units(), 14u);
  EXPECT_TRUE(counted.device().ok());
  counted.cancel();
  EXPECT_TRUE(runner.cancelled);
}

}  // namespace
}  // namespace tf::measure
