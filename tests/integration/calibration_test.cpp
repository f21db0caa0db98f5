// What this machine reaches, measured by real builders and its real worker, and as a user sees it.

#include "tuner/session/calibrate/calibration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/driver/build_pool.h"
#include "compiler/driver/wire.h"
#include "database/memory_store.h"
#include "database/stores/open_store.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/integration/tuning_fixture.h"
#include "tuner/measure/local_runner.h"

namespace tf::integration_test {
namespace {

using session::calibration_kernels_of;
using session::CalibrationKernel;
using session::is_calibration;
namespace farm = tunefarm::farm::v1;

class HostCalibration : public testing::Test {
 protected:
  std::unique_ptr<driver::BuildPool> builder_ = driver::BuildPool::create({.workers = 1}).value();
  std::unique_ptr<measure::LocalRunner> runner_ =
      measure::LocalRunner::start({.sandbox = {.without = {}, .without_missing = true}}).value();
  const target::Target target_ = target::host_target();
};

TEST_F(HostCalibration, ReadPositiveRatesFromTheFastestLevelToTheSlowest) {
  const auto store = database::make_memory_store();
  const session::CalibrationOptions options = {
      .machine = {target_, "local", runner_->device().value().fingerprint()}};
  const std::atomic<bool> stop = false;
  const model::MeasuredRates rates =
      session::measured_rates(options, *builder_, *runner_, *store, stop).value();
  for (const CalibrationKernel& kernel : calibration_kernels_of(target_)) EXPECT_GT(rates.*kernel.rate, 0);
  // Loosely: others may have the machine meanwhile.
  EXPECT_GT(rates.flops_per_s, 0.5 * rates.l2_bytes_per_s / 4) << "a multiply-add a float from L2";
  EXPECT_GT(rates.l2_bytes_per_s, 0.5 * rates.shared_bytes_per_s);
  EXPECT_GT(rates.shared_bytes_per_s, 0.5 * rates.memory_bytes_per_s);
  EXPECT_EQ(session::measured_rates(options, *builder_, *runner_, *store, stop).value(), rates);
}

TEST_F(HostCalibration, ComputeWhatTheyAreDefinedAs) {
  const std::vector<CalibrationKernel> all = calibration_kernels_of(target_);
  for (size_t i = 0; i < 2; ++i) {  // the others are the second with more terms
    const session::Task& task = all[i].task;
    const auto kernel =
        builder_->build(driver::kernel_request(task.kernel, target_.text(), all[i].schedule)).value();
    const auto reference = builder_->build(driver::reference_request(task.kernel, target_.text())).value();
    ASSERT_EQ(kernel.code(), 0) << kernel.message();
    farm::Trial trial;
    trial.set_input_seed(1);
    trial.set_threads(1);
    trial.mutable_options()->set_samples(1);
    trial.mutable_options()->set_cache_mode(farm::CACHE_MODE_WARM);
    trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
    trial.mutable_limits()->set_memory_bytes(1ull << 30);
    const auto result =
        runner_->run({measure::make_artifact_bytes(kernel.artifact().SerializeAsString()),
                      measure::make_artifact_bytes(reference.artifact().SerializeAsString()), &trial});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->outcome(), farm::OUTCOME_OK) << result->detail();
  }
}

TEST_F(Tuning, ADatabaseKnowsTheMachineAndShowsOnlyKernelsOfNetworks) {
  const auto calibration = [&] {
    const auto records = database::open_records(file("t.db")).value();
    int count = 0;
    EXPECT_TRUE(records
                    ->scan({},
                           [&](const database::Measurement& record) {
                             count += is_calibration(record.problem.workload);
                             return absl::OkStatus();
                           })
                    .ok());
    return count;
  };
  const size_t expected = calibration_kernels_of(target::host_target()).size();
  for (const char* trials : {"5", "6"}) {
    const Result tuned = run("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", file("t.db"),
                                       "--trials", trials, "--without-sandbox", "missing"});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_EQ(calibration(), expected) << "once";
  }
  const std::string best = run("tuner", {"best", "--db", file("t.db"), "--json"}).out;
  EXPECT_EQ(nlohmann::json::parse(best).size(), 5u) << "the tasks of mlp";
}

}  // namespace
}  // namespace tf::integration_test
