#include "tuner/session/finals/finals_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "compiler/driver/wire.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/tuner/session/tune_fixture.h"
#include "tuner/session/finals/finals.h"
#include "tuner/session/finals/finals_run.h"

namespace tf::session {
namespace {

using Rows = std::map<std::string, std::vector<database::Measurement>>;

class FinalsTest : public TuneTest {
 protected:
  FinalsTest() { options_.finals = true; }

  Rows rows_by_schedule() {
    Rows rows;
    for (const auto& record : records())
      rows[record.problem.workload.hex() + record.schedule].push_back(record);
    return rows;
  }
  database::Measurement fastest_of(const Task& task) {
    return store_->top({.problem = tensor::key_for(task.kernel, options_.target, 1)}, 1).value().front();
  }
  // Of the first task alone, tried without a final re-measurement; the next run tries one more and holds one.
  database::Measurement fastest_of_eight() {
    tasks_.resize(1);
    options_.budget.trials = 8;
    runner_.spread_ns = 100;
    options_.finals = false;
    EXPECT_TRUE(run().ok());
    options_.budget.trials = 9;
    options_.finals = true;
    return fastest_of(tasks_[0]);
  }
};

TEST_F(FinalsTest, LetsTheBestThatAreTooCloseToCallMeetAgain) {
  ASSERT_TRUE(run().ok());
  // The fake device's times differ by less than noise, and never change.
  const Rows rows = rows_by_schedule();
  EXPECT_EQ(rows.size(), 24u) << "nothing new is tried in a final re-measurement";
  int again = 0;
  for (const auto& [schedule, measured] : rows) {
    if (measured.size() == 1) continue;
    ++again;
    EXPECT_GE(measured.back().samples.size(), 2u);
    EXPECT_TRUE(measured.back().interleaved.has_value());
  }
  EXPECT_GE(again, 2);
  EXPECT_LE(again, 2 * static_cast<int>(Finals::kFinalists)) << "of two tasks";
  const int runs = runner_.runs;
  const absl::StatusOr<Progress> more = run();
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->trials(), 24) << "rows of final re-measurements are no trials";
  EXPECT_EQ(runner_.runs, runs) << "nothing was tuned, so there is nothing to decide";
}

TEST_F(FinalsTest, IsToldApartFromTrials) {
  std::vector<Progress> told;
  ASSERT_TRUE(tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& progress) {
                told.push_back(progress);
              }).ok());
  ASSERT_GE(told.size(), 2u);
  const Progress &playing = told[told.size() - 2], &last = told.back();
  EXPECT_EQ(playing.phase(), PHASE_FINALS);
  EXPECT_EQ(playing.trials(), 24);
  EXPECT_FALSE(playing.has_remaining_s()) << "what no budget of trials tells";
  EXPECT_EQ(last.phase(), PHASE_OVER);
  EXPECT_EQ(last.trials(), 24);
  EXPECT_GE(last.trials_per_second(), playing.trials_per_second()) << "final re-measurements are no trials";
}

TEST_F(FinalsTest, IsNotSpokenOfWhereThereIsNoneBecauseItWasStopped) {
  runner_.stop = &stop_;
  runner_.stop_after = 20;
  bool is_told = false;
  ASSERT_TRUE(tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& progress) {
                is_told = is_told || progress.phase() == PHASE_FINALS;
              }).ok());
  EXPECT_FALSE(is_told);
}

TEST_F(FinalsTest, TellsHowTheTimeGoesOn) {
  std::atomic<bool> is_slow = false;  // the next trial, so that it lasts long enough to be told of
  runner_.delay = [&] { return std::chrono::microseconds(is_slow.exchange(false) ? 1'000'000 : 0); };
  std::vector<double> elapsed_s;
  ASSERT_TRUE(tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& progress) {
                if (progress.phase() != PHASE_FINALS) return;
                if (elapsed_s.empty()) is_slow = true;
                elapsed_s.push_back(progress.elapsed_s());
              }).ok());
  ASSERT_GE(elapsed_s.size(), 2u);
  EXPECT_GT(elapsed_s.back(), elapsed_s.front() + 0.2);
}

// The second job's final re-measurements measure again what the first one tried.
TEST_F(FinalsTest, IsNoTrialOfAJobThatGoesOnWhoeverTriedItsSchedules) {
  options_.finals = false;
  ASSERT_TRUE(run().ok());
  options_.finals = true;
  options_.job_id = store_->add_job({}).value();
  ASSERT_TRUE(run().ok());
  const auto of_both = [&](const std::vector<database::Measurement>& rows) {
    return rows.front().job_id != rows.back().job_id && rows.back().interleaved.has_value();
  };
  const Rows rows = rows_by_schedule();
  ASSERT_TRUE(std::ranges::any_of(rows, [&](const auto& each) { return of_both(each.second); }));
  EXPECT_EQ(store_->count_trials(options_.job_id).value(), 24);
  const int runs = runner_.runs;
  const absl::StatusOr<Progress> more = run();
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->trials(), 24);
  EXPECT_EQ(runner_.runs, runs) << "the final re-measurement was played again";
}

TEST_F(FinalsTest, EndsOnlyWhenWhoLooksFastestHasTakenPart) {
  runner_.is_lucky_first = true;
  runner_.unlucky_ns = 40'000;
  options_.budget.trials = 100;
  ASSERT_TRUE(run().ok());
  for (const Task& task : tasks_)
    EXPECT_TRUE(fastest_of(task).interleaved.has_value()) << "it was only lucky, once";
}

// All take as long. The third, of another layout, counts as one run, which is more than what the second has.
TEST_F(FinalsTest, BeginsWithWhatTheNetworkRunsLongestOrMay) {
  constexpr int64_t kSize = 56;
  tasks_.push_back({.label = "product", .kernel = {.workload = test::matmul_bias_relu(kSize, kSize, kSize)}});
  tasks_[1].weight = 0.3;
  tasks_[2].weight = 0;
  options_.budget.trials = 36;
  runner_.ns_of = [](const std::string&) { return 100'000; };
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  ASSERT_EQ(progress->trials(), 36);
  std::vector<std::string> order;  // workloads, as the final re-measurements of their kernels began
  for (const std::string& workload : std::span(runner_.workloads).subspan(36))
    if (!std::ranges::count(order, workload)) order.push_back(workload);
  std::vector<std::string> expected;
  for (const size_t task : {0, 2, 1})
    expected.push_back(tensor::canonical_text(tasks_[task].kernel.workload));
  EXPECT_EQ(order, expected);
}

// The machine becomes slower all the time: who is out after few rounds was measured in better times.
TEST_F(FinalsTest, IsWonByTheFastestOfEachRoundWhateverTheMachineDoesBetweenRounds) {
  tasks_.resize(1);
  options_.budget.trials = Finals::kFinalists;
  runner_.spread_ns = 100;
  runner_.drift_per_run = 0.02;
  ASSERT_TRUE(run().ok());
  const auto true_ns = [&](const database::Measurement& m) { return runner_.time_of(m.artifact_digest, 0); };
  database::Measurement winner, lucky;
  int64_t least_ns = 0;
  for (const auto& [schedule, rows] : rows_by_schedule()) {
    ASSERT_EQ(rows.size(), 2u);
    const database::Measurement& row = rows.back();
    ASSERT_TRUE(row.interleaved.has_value());
    const auto pooled_ns = [](const database::Measurement& m) { return database::median_ns(m.samples); };
    if (lucky.samples.empty() || pooled_ns(row) < pooled_ns(lucky)) lucky = row;
    if (least_ns == 0 || true_ns(row) < least_ns) least_ns = true_ns(row);
  }
  EXPECT_GT(true_ns(lucky), least_ns) << "else this test shows nothing";
  EXPECT_EQ(true_ns(fastest_of(tasks_[0])), least_ns);
}

// The faster a candidate is, the more is added to all but one sample of each of its trials.
TEST_F(FinalsTest, IsWonByTheFastestWhateverOthersAddToMostSamples) {
  tasks_.resize(1);
  options_.budget.trials = 2 * Finals::kFinalists;
  runner_.spread_ns = 100;
  runner_.samples_of = [](int64_t ns) {
    const int64_t late_ns = ns + 20 * (102'000 - ns);
    return std::vector{late_ns, ns, late_ns};
  };
  ASSERT_TRUE(run().ok());
  const auto true_ns = [&](const database::Measurement& m) { return runner_.time_of(m.artifact_digest, 0); };
  database::Measurement lucky;
  int64_t least_ns = 0;
  for (const auto& record : records()) {
    if (record.interleaved) continue;
    if (lucky.samples.empty() || record.median_ns() < lucky.median_ns()) lucky = record;
    if (least_ns == 0 || true_ns(record) < least_ns) least_ns = true_ns(record);
  }
  EXPECT_GT(true_ns(lucky), least_ns) << "else this test shows nothing";
  const database::Measurement fastest = fastest_of(tasks_[0]);
  EXPECT_EQ(true_ns(fastest), least_ns);
  EXPECT_TRUE(fastest.interleaved.has_value());
}

TEST_F(FinalsTest, HasTheUntunedScheduleAmongItsFinalistsIfItComesNear) {
  tasks_.resize(1);
  options_.budget.trials = 3 * Finals::kFinalists;
  for (const auto& [untuned_ns, takes_part] : {std::pair{101'000, true}, {110'000, false}}) {
    store_ = database::make_memory_store();
    options_.job_id = store_->add_job({}).value();
    std::string untuned;  // comes first
    runner_.ns_of = [&](const std::string& schedule) {
      if (untuned.empty()) untuned = schedule;
      return schedule == untuned ? untuned_ns : 100'000;
    };
    ASSERT_TRUE(run().ok());
    int remeasured = 0, of_untuned = 0;
    for (const auto& record : records()) {
      EXPECT_EQ(record.untuned, record.schedule == untuned);
      if (record.interleaved) ++(record.untuned ? of_untuned : remeasured);
    }
    EXPECT_GE(remeasured, static_cast<int>(Finals::kFinalists) - 1) << "others come nearer";
    EXPECT_EQ(of_untuned, takes_part ? 1 : 0) << untuned_ns;
  }
}

// Of another run's row, to which it was one of many.
TEST_F(FinalsTest, GoesByTheLatestTimeOfTheUntunedScheduleWhateverItWasCalledThen) {
  tasks_.resize(1);
  options_.budget.trials = 3 * Finals::kFinalists;
  options_.finals = false;
  std::string untuned;  // comes first
  runner_.ns_of = [&](const std::string& schedule) {
    if (untuned.empty()) untuned = schedule;
    return schedule == untuned ? 110'000 : 100'000;
  };
  ASSERT_TRUE(run().ok());
  for (const auto& [latest_ns, takes_part] : {std::pair{101'000, true}, {120'000, false}}) {
    database::Measurement latest =
        rows_by_schedule()[tensor::key_for(tasks_[0].kernel, options_.target, 1).workload.hex() + untuned]
            .front();
    latest.untuned = false;
    latest.samples = {{.total_ns = latest_ns, .iterations = 1}};
    ASSERT_TRUE(store_->insert(latest).ok());
    ++options_.budget.trials;
    options_.finals = true;
    ASSERT_TRUE(run().ok());
    const database::Measurement last = rows_by_schedule()[latest.problem.workload.hex() + untuned].back();
    EXPECT_EQ(last.interleaved.has_value(), takes_part) << latest_ns;
    EXPECT_EQ(last.untuned, takes_part) << "it is called so in its finals";
  }
}

TEST_F(FinalsTest, EndsWhenTheDeviceIsGoneAndKeepsWhatItShowed) {
  tasks_.resize(1);
  options_.budget.trials = 8;
  runner_.spread_ns = 100;
  runner_.lose_from = 8 + 3 * Finals::kFinalists;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 8);
  EXPECT_FALSE(progress->undecided()) << "it goes by the rounds that were played";
  EXPECT_TRUE(fastest_of(tasks_[0]).interleaved.has_value()) << "of the rounds before";
  for (const auto& record : records()) EXPECT_EQ(record.outcome, database::Outcome::kOk) << "nobody failed";
  EXPECT_LE(runner_.runs, runner_.lose_from + kMaxTries * static_cast<int>(2 * Finals::kFinalists))
      << "it is tried for a round, and by whoever is left";
}

TEST_F(FinalsTest, SaysThatItWasNotHeldWhereTheDeviceIsGoneBefore) {
  tasks_.resize(1);
  options_.budget.trials = 8;
  runner_.spread_ns = 100;
  runner_.lose_from = 9;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_TRUE(progress->undecided());
  EXPECT_FALSE(fastest_of(tasks_[0]).interleaved.has_value());
}

// A job whose time ends so is done with what it has.
TEST_F(FinalsTest, SaysThatItWasNotHeldWhereTheRunFailsBefore) {
  runner_.lose_from = 9;
  Progress last;
  const absl::StatusOr<Progress> progress =
      tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& told) { last = told; });
  ASSERT_FALSE(progress.ok());
  EXPECT_EQ(last.trials(), 8);
  EXPECT_TRUE(last.undecided());
}

TEST_F(FinalsTest, TakesItsPlaceFromOneThatFails) {
  const database::Measurement before = fastest_of_eight();
  runner_.wrong_again = before.artifact_digest;
  ASSERT_TRUE(run().ok());
  const std::vector<database::Measurement> rows =
      rows_by_schedule()[before.problem.workload.hex() + before.schedule];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.back().outcome, database::Outcome::kCrashed);
  EXPECT_NE(fastest_of(tasks_[0]).schedule, before.schedule);
  EXPECT_EQ(runner_.acknowledged, runner_.runs) << "what is recorded is acknowledged";
}

// Else it would have as many tries as it takes to pass.
TEST_F(FinalsTest, BelievesAFailureHoweverHotTheDevice) {
  const database::Measurement before = fastest_of_eight();
  runner_.wrong_again = before.artifact_digest;
  runner_.throttle_again_every = 2;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(runner_.measured[before.artifact_digest], 2) << "it was tried again";
  const std::vector<database::Measurement> rows =
      rows_by_schedule()[before.problem.workload.hex() + before.schedule];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.back().outcome, database::Outcome::kCrashed);
  EXPECT_TRUE(rows.back().device.throttled);
}

TEST_F(FinalsTest, MakesATrialAgainWhoseDeviceThrottledMeanwhile) {
  runner_.throttle_again_every = 3;
  runner_.throttled_ns = 100'000;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_GT(progress->not_measured(), 0);
  EXPECT_EQ(store_->count_attempts(options_.job_id).value(), progress->not_measured());
  for (const auto& record : records()) {
    EXPECT_FALSE(record.device.throttled);
    for (const database::Sample& sample : record.samples) EXPECT_LT(sample.total_ns, 200'000);
  }
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
}

TEST_F(FinalsTest, BelievesADeviceThatThrottlesAsLongAsItTriesAndSaysSo) {
  tasks_.resize(1);
  options_.budget.trials = 8;
  runner_.spread_ns = 100;
  runner_.throttle_again_every = 1;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  int remeasured = 0;
  for (const auto& record : records()) {
    EXPECT_EQ(record.device.throttled, record.interleaved.has_value());
    remeasured += record.interleaved.has_value();
  }
  EXPECT_GE(remeasured, 2);
  EXPECT_GE(progress->not_measured(), 2) << "a device that was steady";
  EXPECT_LE(progress->not_measured(), 2 * remeasured) << "once it is known to be hot, a trial counts at once";
  EXPECT_GT(runner_.runs - 8 - progress->not_measured(), remeasured) << "else this test shows nothing";
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
}

}  // namespace
}  // namespace tf::session
