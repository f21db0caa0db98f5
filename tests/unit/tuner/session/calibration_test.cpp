// Machine calibration over fakes: measured first, once, found again; a session without them goes on.

#include "tuner/session/calibrate/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <utility>

#include "compiler/passes/lower.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/captured_log.h"
#include "tests/unit/tuner/session/tune_fixture.h"
#include "tuner/model/gpu/launches.h"
#include "tuner/model/roofline/rates.h"

namespace tf::session {
namespace {

using model::MeasuredRates;

constexpr size_t kCalibrationKernels = 4;

class CalibrationTest : public TuneTest {
 protected:
  CalibrationTest() {
    options_.calibration = true;
    runner_.fingerprint = "desk";
  }

  // Times that a model can learn.
  void let_times_depend_on_schedules() {
    runner_.ns_of = [](const std::string& schedule) {
      int64_t ns = 10'000;
      for (size_t at = 0; (at = schedule.find("unroll_limit ", at)) != std::string::npos; ++at)
        ns += 100 * std::atoi(schedule.c_str() + at + 13);
      return ns + 1000 * static_cast<int64_t>(schedule.size() % 64);
    };
  }

  // A new job on an empty store.
  void begin_anew() {
    store_ = database::make_memory_store();
    options_.job_id = store_->add_job({}).value();
    runner_.runs = 0;
    stop_ = false;
  }

  // The same after a job that ended.
  void begin_after_another() {
    begin_anew();
    const int64_t trials = std::exchange(options_.budget.trials, 40);
    ASSERT_TRUE(run().ok());
    options_.budget.trials = trials;
    options_.job_id = store_->add_job({}).value();
    runner_.runs = 0;
  }

  // The candidates of the job, as they were recorded.
  std::vector<std::string> proposals() {
    std::vector<std::string> all;
    for (const auto& record : records())
      if (record.job_id == options_.job_id) all.push_back(record.problem.workload.hex() + record.schedule);
    return all;
  }

  bool is_measured(const MeasuredRates& rates) {
    return std::min({rates.flops_per_s, rates.l2_bytes_per_s, rates.shared_bytes_per_s,
                     rates.memory_bytes_per_s}) > 0;
  }

  MeasuredRates rates() {
    return measured_rates({{options_.target, options_.device_class, runner_.fingerprint}}, builder_, runner_,
                          *store_, stop_)
        .value();
  }

  std::vector<database::Measurement> calibration_records() {
    std::vector<database::Measurement> all = records();
    std::erase_if(all, [](const auto& record) { return !is_calibration(record.problem.workload); });
    return all;
  }
};

TEST_F(CalibrationTest, AreMeasuredFirstAndAreNoTrials) {
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_EQ(store_->count_trials(options_.job_id).value(), 24);
  const std::vector<database::Measurement> all = records();
  ASSERT_EQ(all.size(), 24 + kCalibrationKernels);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(is_calibration(all[i].problem.workload), i < kCalibrationKernels);
    EXPECT_EQ(all[i].job_id, i < kCalibrationKernels ? 0 : options_.job_id);
  }
  for (size_t i = 0; i < kCalibrationKernels; ++i) EXPECT_EQ(all[i].cache_mode, database::CacheMode::kWarm);
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
}

TEST_F(CalibrationTest, AreMeasuredOnceAMachine) {
  ASSERT_TRUE(run().ok());
  options_.job_id = store_->add_job({}).value();  // another job
  options_.threads = 2;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(calibration_records().size(), kCalibrationKernels);
  runner_.fingerprint = "another machine";
  options_.job_id = store_->add_job({}).value();
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(calibration_records().size(), 2 * kCalibrationKernels);
  options_.device_class = "board";
  options_.job_id = store_->add_job({}).value();
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(calibration_records().size(), 3 * kCalibrationKernels);
}

TEST_F(CalibrationTest, ReadTheSameForEverySessionThatFollows) {
  const MeasuredRates first = rates();
  EXPECT_TRUE(is_measured(first));
  const int runs = runner_.runs;
  EXPECT_EQ(rates(), first);
  EXPECT_EQ(runner_.runs, runs) << "the store knows them";
}

TEST_F(CalibrationTest, AreNotOfWhatTheDeviceTells) {
  const MeasuredRates told = {.flops_per_s = 2e12, .units = 14};
  const MeasuredRates rates =
      measured_rates({.machine = {options_.target, options_.device_class, runner_.fingerprint}, .told = told},
                     builder_, runner_, *store_, stop_)
          .value();
  EXPECT_EQ(rates.flops_per_s, told.flops_per_s);
  EXPECT_EQ(rates.units, told.units);
  EXPECT_TRUE(is_measured(rates));
  EXPECT_EQ(calibration_records().size(), kCalibrationKernels - 1);
}

TEST_F(CalibrationTest, AreByTheShortestSample) {
  const CalibrationKernel peak = calibration_kernels_of(options_.target).front();
  ASSERT_EQ(peak.rate, &MeasuredRates::flops_per_s);
  runner_.ns_of = [](const std::string&) { return 1'000'000; };
  EXPECT_DOUBLE_EQ(rates().flops_per_s, peak.amount * 1e3);
  database::Measurement record = calibration_records().front();
  store_ = database::make_memory_store();
  ASSERT_TRUE(store_->add_workload({.text = tensor::canonical_text(peak.task.kernel.workload)}).ok());
  record.samples = {{3'000'000, 1}, {1'000'000, 2}, {4'000'000, 1}};
  ASSERT_TRUE(store_->insert(record).ok());
  EXPECT_DOUBLE_EQ(rates().flops_per_s, peak.amount * 2e3);
}

TEST_F(CalibrationTest, OfAResumedJobAreThoseOfTheMachineThatMeasures) {
  options_.budget.trials = 40;
  runner_.stop_after = 20;
  runner_.stop = &stop_;
  ASSERT_TRUE(run().ok());
  stop_ = false;
  runner_.fingerprint = "another desk";
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(calibration_records().size(), 2 * kCalibrationKernels);
  EXPECT_EQ(records().size(), 40 + 2 * kCalibrationKernels);
}

TEST_F(CalibrationTest, AreLeftOutWhereTheDeviceOnlyRotates) {
  runner_.refuses_warm = true;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_EQ(progress->not_measured(), 0);
  EXPECT_EQ(records().size(), 24u);
  EXPECT_EQ(runner_.runs, 25) << "it was asked once";
}

TEST_F(CalibrationTest, ThatDoNotCompileAreNotTriedAgain) {
  builder_.refuse_every = 1;
  EXPECT_EQ(rates(), MeasuredRates());
  ASSERT_EQ(calibration_records().size(), kCalibrationKernels);
  for (const auto& record : calibration_records())
    EXPECT_EQ(record.outcome, database::Outcome::kCompileError);
  builder_.refuse_every = 0;
  EXPECT_EQ(rates(), MeasuredRates());
  EXPECT_EQ(runner_.runs, 0);
}

TEST_F(CalibrationTest, ThatCrashSayNothing) {
  runner_.fail_every = 2;
  const MeasuredRates rates = this->rates();
  EXPECT_GT(rates.flops_per_s, 0);
  EXPECT_EQ(rates.l2_bytes_per_s, 0);
  EXPECT_GT(rates.shared_bytes_per_s, 0);
}

// A file may be anybody's: the peak's record comes first, and is of this machine by its word.
TEST_F(CalibrationTest, ThatNoCoreReachesCountForNothing) {
  ASSERT_TRUE(is_measured(rates()));
  const MeasuredRates true_rates = rates();
  const std::vector<database::Measurement> measured = calibration_records();
  const std::vector<std::vector<database::Sample>> absurd = {
      {{0, 1}}, {{1, 4'000'000'000}}, {{1'000'000'000'000'000, 1}}, {{100'000, 1}, {1, 1'000'000}}, {}};
  for (const std::vector<database::Sample>& samples : absurd) {
    begin_anew();
    database::Measurement forged = measured.front();
    forged.samples = samples;
    const CalibrationKernel peak = calibration_kernels_of(options_.target).front();
    ASSERT_TRUE(store_->add_workload({.text = tensor::canonical_text(peak.task.kernel.workload)}).ok());
    ASSERT_TRUE(store_->insert(forged, database::Origin::kImport).ok());
    EXPECT_EQ(CalibrationRecords::read(*store_).value().rates_of(
                  {options_.target, options_.device_class, runner_.fingerprint}),
              MeasuredRates());
    EXPECT_EQ(rates(), true_rates) << "it was measured all the same";
    EXPECT_EQ(calibration_records().size(), 1 + kCalibrationKernels);
  }
}

TEST_F(CalibrationTest, ThatTheDeviceItselfSaysNoCoreReachesAreImplausible) {
  runner_.ns_of = [](const std::string&) { return 0; };
  EXPECT_EQ(rates(), MeasuredRates());
  ASSERT_EQ(calibration_records().size(), kCalibrationKernels);
  for (const auto& record : calibration_records()) EXPECT_EQ(record.outcome, database::Outcome::kImplausible);
  EXPECT_EQ(rates(), MeasuredRates());
  EXPECT_EQ(runner_.runs, static_cast<int>(kCalibrationKernels)) << "it would say it again";
}

TEST_F(CalibrationTest, AreTriedAgainWhereTheDeviceWasAwayForAMoment) {
  runner_.lose_every = 2;
  EXPECT_TRUE(is_measured(rates()));
  EXPECT_EQ(calibration_records().size(), kCalibrationKernels);
}

TEST_F(CalibrationTest, ThatNameAnotherMachineAreNotKept) {
  runner_.names_other = true;
  EXPECT_EQ(rates(), MeasuredRates());
  EXPECT_TRUE(calibration_records().empty());
  runner_.names_other = false;
  EXPECT_TRUE(is_measured(rates()));
}

TEST_F(CalibrationTest, EndWithTheSessionThatIsCancelled) {
  runner_.cancels = true;
  const auto rates = measured_rates({{options_.target, options_.device_class, runner_.fingerprint}}, builder_,
                                    runner_, *store_, stop_);
  EXPECT_EQ(rates.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(CalibrationTest, AreNotMeasuredOnceTheSessionIsToStop) {
  stop_ = true;
  EXPECT_EQ(rates(), MeasuredRates());
  EXPECT_TRUE(records().empty());
}

// Passes builds on. Of calibration kernels each waits, for a while, for what the test wants to see first.
class HeldBuilder final : public driver::Builder {
 public:
  explicit HeldBuilder(driver::Builder& builder) : builder_(builder) {}
  absl::StatusOr<kernel::BuildReply> build(const kernel::BuildRequest& request) override {
    if (is_calibration({sha256(request.kernel().workload())})) {
      std::unique_lock lock(mutex_);
      if (++held_ >= enough) is_let_go_ = true;
      changed_.notify_all();
      came_in_vain += !changed_.wait_for(lock, std::chrono::seconds(20), [this] { return is_let_go_; });
    }
    return builder_.build(request);
  }
  void let_go() {
    std::lock_guard lock(mutex_);
    is_let_go_ = true;
    changed_.notify_all();
  }
  int slots() const override { return builder_.slots(); }
  void cancel() override {
    let_go();
    builder_.cancel();
  }

  int enough = 1000;  // at once, so that they go on by themselves
  int came_in_vain = 0;

 private:
  driver::Builder& builder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  bool is_let_go_ = false;
};

TEST_F(CalibrationTest, AreBuiltBesideEachOther) {
  HeldBuilder held(builder_);
  held.enough = kCalibrationKernels;
  const CalibrationOptions options = {{options_.target, options_.device_class, runner_.fingerprint}};
  Calibration calibration = Calibration::begin(options, held, *store_).value();
  EXPECT_TRUE(is_measured(calibration.finish(runner_, *store_, stop_).value()));
  EXPECT_EQ(held.came_in_vain, 0) << "one waited for the other to be built";
}

TEST_F(CalibrationTest, AreBuiltWhileWhoBeganThemGetsReady) {
  HeldBuilder held(builder_);
  const CalibrationOptions options = {{options_.target, options_.device_class, runner_.fingerprint}};
  Calibration calibration = Calibration::begin(options, held, *store_).value();
  EXPECT_TRUE(calibration.is_building());
  held.let_go();
  EXPECT_TRUE(is_measured(calibration.finish(runner_, *store_, stop_).value()));
  EXPECT_FALSE(calibration.is_building());
  EXPECT_EQ(held.came_in_vain, 0) << "who began them had to wait";
}

TEST_F(CalibrationTest, ThatAreStillBeingBuiltHoldNoEndUp) {
  const auto came_in_vain = [this] {
    HeldBuilder held(builder_);
    const absl::StatusOr<Progress> progress =
        tune(tasks_, options_, held, runner_, *store_, stop_, [](const Progress&) {});
    EXPECT_TRUE(progress.ok() || !stop_) << progress.status();
    return held.came_in_vain;
  };
  options_.calibration_wait = absl::Milliseconds(20);
  runner_.stop_after = 5;
  runner_.stop = &stop_;
  EXPECT_EQ(came_in_vain(), 0) << "of a session that stops";
  begin_anew();
  runner_.stop_after = 0;
  tasks_.back().kernel.binding = {{"no such dimension", 3}};
  EXPECT_EQ(came_in_vain(), 0) << "of one that cannot begin";
}

TEST_F(CalibrationTest, ThatAreNotBuiltInTimeHoldNoSessionUp) {
  HeldBuilder held(builder_);
  runner_.delay = [&] {  // of the first trial
    held.let_go();
    return std::chrono::microseconds(0);
  };
  options_.calibration_wait = absl::Milliseconds(20);
  const CapturedLog log;
  const absl::StatusOr<Progress> progress =
      tune(tasks_, options_, held, runner_, *store_, stop_, [](const Progress&) {});
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_EQ(held.came_in_vain, 0) << "a candidate waited for them";
  EXPECT_THAT(log.text(), testing::HasSubstr("not built in 20ms"));
  EXPECT_TRUE(calibration_records().empty());
  options_.job_id = store_->add_job({}).value();
  options_.calibration_wait = absl::Seconds(10);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(calibration_records().size(), kCalibrationKernels) << "the next job has them";
}

// One of four runs uses up the time of all.
TEST_F(CalibrationTest, OfASlowDeviceAreNotBegunOnceTheirTimeIsUp) {
  runner_.delay = [] { return std::chrono::seconds(3); };
  const CalibrationOptions options = {
      .machine = {options_.target, options_.device_class, runner_.fingerprint},
      .grace_period = absl::Seconds(3)};
  const MeasuredRates rates = measured_rates(options, builder_, runner_, *store_, stop_).value();
  EXPECT_GT(rates.flops_per_s, 0);
  EXPECT_EQ(rates.memory_bytes_per_s, 0);
  EXPECT_EQ(runner_.runs, 1);
}

constexpr const char* kTargets[] = {"x86_64",
                                    "x86_64:cpu=haswell",
                                    "x86_64:cpu=znver4",
                                    "x86_64:cpu=znver5",
                                    "aarch64:cpu=cortex-a72",
                                    "aarch64:cpu=neoverse-n1",
                                    "armv7:cpu=cortex-a7"};

TEST(CalibrationKernels, LieInTheLevelThatTheyAreOf) {
  for (const char* text : kTargets) {
    SCOPED_TRACE(text);
    const target::Target target = target::parse_target(text).value();
    const std::vector<CalibrationKernel> all = calibration_kernels_of(target);
    ASSERT_EQ(all.size(), kCalibrationKernels);
    std::vector<int64_t> bytes;
    for (const CalibrationKernel& kernel : all) {
      EXPECT_TRUE(is_calibration({tensor::workload_key(kernel.task.kernel.workload)}));
      const tensor::Workload bound =
          tensor::bind(kernel.task.kernel.workload, kernel.task.kernel.binding).value();
      bytes.push_back(static_cast<int64_t>(tensor::count_bytes(bound)));
      const auto state = schedule::apply(bound, schedule::parse_schedule(kernel.schedule).value());
      EXPECT_TRUE(state.ok()) << state.status();
      EXPECT_TRUE(passes::lower(bound, schedule::parse_schedule(kernel.schedule).value(), {}).ok());
    }
    EXPECT_DOUBLE_EQ(
        all[0].amount,
        tensor::count_flops(tensor::bind(all[0].task.kernel.workload, all[0].task.kernel.binding).value()));
    EXPECT_LE(bytes[0], target.caches.l1_bytes * 3 / 4);
    EXPECT_GT(bytes[1], target.caches.l1_bytes);
    EXPECT_LE(bytes[1], target.caches.l2_bytes * 3 / 4);
    EXPECT_GT(bytes[2], target.caches.l2_bytes);
    EXPECT_LE(bytes[2], model::shared_cache_bytes(target) * 3 / 4);
    EXPECT_GE(bytes[3], 4 * model::shared_cache_bytes(target));
    EXPECT_LE(bytes[3], (256 << 20) + (64 << 10));
  }
}

TEST(CalibrationKernels, AreNoneForALevelHardlyLargerThanTheOneBefore) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4,l2=64K,l3=96K").value();
  std::vector<double MeasuredRates::*> rates;
  for (const CalibrationKernel& kernel : calibration_kernels_of(target)) rates.push_back(kernel.rate);
  EXPECT_EQ(rates, (std::vector<double MeasuredRates::*>{&MeasuredRates::flops_per_s,
                                                         &MeasuredRates::memory_bytes_per_s}));
}

TEST(CalibrationKernels, OfAGpuAreAProductAndStreams) {
  for (const char* text : {"cuda:arch=sm_75", "cuda:arch=sm_90", "opencl"}) {
    SCOPED_TRACE(text);
    const target::Target target = target::parse_target(text).value();
    const std::vector<CalibrationKernel> all = calibration_kernels_of(target);
    ASSERT_GE(all.size(), 2u);
    for (const CalibrationKernel& kernel : all) {
      EXPECT_TRUE(is_calibration({tensor::workload_key(kernel.task.kernel.workload)}));
      const tensor::Workload bound =
          tensor::bind(kernel.task.kernel.workload, kernel.task.kernel.binding).value();
      const schedule::Schedule schedule = schedule::parse_schedule(kernel.schedule).value();
      const absl::StatusOr<schedule::State> state = schedule::apply(bound, schedule);
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_TRUE(passes::lower(bound, schedule, {}, {.pipeline = passes::gpu_pipeline()}).ok());
      const std::vector<model::GpuLaunch> launches = model::launches_of(*state, {});
      ASSERT_EQ(launches.size(), 1u);
      EXPECT_EQ(launches[0].threads().constant(), 256);
      EXPECT_LT(launches[0].registers.constant(), 128);
    }
    EXPECT_EQ(all.front().rate, &MeasuredRates::flops_per_s);
    EXPECT_EQ(all.back().rate, &MeasuredRates::memory_bytes_per_s);
    EXPECT_GE(all.back().amount,
              static_cast<double>(std::min<int64_t>(4 * target.caches.l2_bytes, 256 << 20)));
  }
}

}  // namespace
}  // namespace tf::session
