// A session and its devices: several at once, and such that throttle.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/tuner/session/tune_fixture.h"
#include "tuner/measure/fleet_runner.h"

namespace tf::session {
namespace {

TEST_F(TuneTest, TakesTheTimeAgainOfADeviceThatThrottledMeanwhile) {
  runner_.throttle_every = 9;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_GT(progress->not_measured(), 0);
  for (const auto& record : records()) EXPECT_FALSE(record.device.throttled);
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
}

// One whose trial was lost is tried again, and another of the same code meanwhile.
TEST_F(TuneTest, AcknowledgesWhatItMeasuredOfACodeThatItKnowsMeanwhile) {
  builder_.same_code = builder_.first_has_own_code = true;
  runner_.lose_every = 3;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(records().size(), 4u) << "two codes a task";
  const int measured = runner_.runs - static_cast<int>(progress->not_measured());
  EXPECT_GT(measured, 4) << "else this test shows nothing";
  EXPECT_GE(runner_.acknowledged, measured);
}

// Nobody waits for a turn that is kept by who waits for him.
TEST_F(TuneTest, SearchesAndLearnsInTurnsWithADeviceThatLeavesNoCpu) {
  options_.has_no_cpu = options_.takes_turns = options_.finals = true;
  options_.budget.trials = 150;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 150);
}

// All that are under way are spoiled, and spoiled again: many in a row, but the device answers.
TEST_F(TuneTest, GoesOnWithADeviceThatBeginsToThrottleAndNeverCools) {
  runner_.devices = 16;
  options_.budget.trials = 60;
  runner_.ns_of = [this](const std::string&) {
    if (runner_.runs == 20) runner_.throttle_every = 1;
    return 100'000;
  };
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 60);
  EXPECT_GT(progress->not_measured(), 24) << "else this test shows nothing";
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
  const auto hot = std::ranges::count_if(records(), [](const auto& each) { return each.device.throttled; });
  EXPECT_GT(hot, 30) << "they count, and say so";
}

TEST_F(TuneTest, BelievesADeviceThatThrottlesAlways) {
  runner_.throttle_every = 1;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_EQ(progress->not_measured(), 0);
}

// Sixteen devices, so that more waits than is as good as begun, and times that the model can learn.
TEST_F(TuneTest, WithdrawsWhatTheModelFindsHopelessAndProposesTheSameWhateverTheThreadsDo) {
  options_.budget.trials = 400;
  runner_.devices = 16;
  builder_.tells_code = true;
  runner_.ns_of = [](const std::string& schedule) {
    int64_t ns = 10'000;
    for (size_t at = 0; (at = schedule.find("unroll_limit ", at)) != std::string::npos; ++at)
      ns += 100 * std::atoi(schedule.c_str() + at + 13);
    return ns + 1000 * static_cast<int64_t>(schedule.size() % 64);
  };
  std::vector<std::vector<std::string>> told;
  for (const int most_us : {1, 3000}) {
    store_ = database::make_memory_store();
    options_.job_id = store_->add_job({}).value();
    std::atomic<int> next{0};
    runner_.delay = [&] { return std::chrono::microseconds(++next * 7919 % most_us); };
    const absl::StatusOr<Progress> progress = run();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_GT(progress->withdrawn(), 0);
    std::vector<std::string>& order = told.emplace_back();
    for (const auto& record : records()) order.push_back(record.problem.workload.hex() + record.schedule);
    EXPECT_EQ(order.size(), 400u);
    EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), 400u);
  }
  EXPECT_EQ(told[0], told[1]);
}

// A board that takes so many times as long as its kind, each trial 1% more or less.
class Board final : public measure::LeasedRunner {
 public:
  Board(int number, double factor, std::function<double(const std::string&)> ns_of)
      : name_("m" + std::to_string(number)), factor_(factor), ns_of_(std::move(ns_of)), random_(number) {}

  absl::StatusOr<farm::TrialResult> run(const measure::MeasureRequest& request) override {
    kernel::Artifact artifact;
    EXPECT_TRUE(artifact.ParseFromString(*request.candidate.bytes));
    const std::scoped_lock lock(mutex_);
    std::normal_distribution<double> noise(0, 0.01);
    const double ns = ns_of_(artifact.manifest().computation()) * factor_ * std::exp(noise(random_));
    farm::TrialResult result;
    result.set_outcome(farm::OUTCOME_OK);
    result.set_artifact_digest(request.candidate.digest);
    result.set_cache_mode(farm::CACHE_MODE_ROTATE);
    result.mutable_device()->set_fingerprint("alike");
    result.set_lease_id("lease of " + name_);
    result.set_epoch(1);
    result.set_sequence(++sequence_);
    result.set_slot(name_ + "/0");
    for (int i = 0; i < 8; ++i) {
      farm::Sample& sample = *result.add_samples();
      sample.set_iterations(1);
      sample.set_total_ns(std::llround(ns * (1 + 0.001 * (i % 3))));
    }
    return result;
  }
  void cancel() override {}
  measure::LeasedDevice leased_device() const override {
    return {.lease_id = "lease of " + name_, .device_id = name_, .fingerprint = "alike"};
  }
  bool has_ended() const override { return false; }
  bool is_device_away() const override { return false; }

 private:
  const std::string name_;
  const double factor_;
  const std::function<double(const std::string&)> ns_of_;
  std::mutex mutex_;
  std::mt19937 random_;
  uint64_t sequence_ = 0;
};

class BoardsTest : public TuneTest {
 protected:
  static double ns_of(const std::string& schedule) {
    return 100'000 * (1 + 0.5 * static_cast<double>(std::hash<std::string>()(schedule) % 1000) / 1000);
  }
  // How long the kernel of the first task that comes of it takes in truth, and how many boards measured.
  double best_from(const std::vector<double>& factors) {
    store_ = database::make_memory_store();
    options_.job_id = store_->add_job({}).value();
    measure::FleetOptions fleet;
    size_t opened = 0;
    fleet.target.slots = factors.size();
    fleet.open = [&](absl::Duration, const auto&) -> absl::StatusOr<std::unique_ptr<measure::LeasedRunner>> {
      const size_t number = opened++;
      return std::make_unique<Board>(static_cast<int>(number), factors[number % factors.size()], ns_of);
    };
    auto runner = measure::FleetRunner::connect(std::move(fleet));
    EXPECT_TRUE(runner.ok()) << runner.status();
    const auto progress = tune(tasks_, options_, builder_, **runner, *store_, stop_, [](const Progress&) {});
    EXPECT_TRUE(progress.ok()) << progress.status();
    EXPECT_FALSE(progress->undecided());
    for (const auto& record : records())
      if (record.lease) boards_.insert(record.lease->slot);
    const auto best = store_->top({.problem = records().front().problem}, 1);
    EXPECT_TRUE(best.ok() && !best->empty());
    return ns_of(best->front().schedule);
  }

  std::set<std::string> boards_;
};

TEST_F(BoardsTest, OneTaskOnFourUnlikeBoardsEndsAsOnOne) {
  tasks_.resize(1);
  options_.finals = true;
  options_.budget.trials = 200;
  const double one = best_from({1});
  boards_.clear();
  const double four = best_from({1, 0.95, 1.05, 1.2});
  EXPECT_EQ(boards_.size(), 4u) << "a network of one task uses all boards";
  EXPECT_NEAR(four / one, 1, 0.02);
}

}  // namespace
}  // namespace tf::session
