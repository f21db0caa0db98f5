// What a session takes over from earlier runs of its job and from earlier jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "database/memory_store.h"
#include "tests/unit/tuner/session/tune_fixture.h"

namespace tf::session {
namespace {

class EarlierJobs : public TuneTest {};

// A shorter time is there already, of numerics that the job may not use, by an import, or of another machine.
TEST_F(EarlierJobs, RacesOnlyAgainstWhatItMayUseAndASessionMeasuredHere) {
  ASSERT_TRUE(run().ok());
  ASSERT_GE(*runner_.incumbents_ns.begin(), 100'000);
  for (const database::Measurement& known : records()) {
    database::Measurement bf16 = known, imported = known, elsewhere = known;
    bf16.numerics = {"bf16"};
    imported.job_id = 0;
    elsewhere.device.fingerprint = "another machine";
    for (database::Measurement* row : {&bf16, &imported, &elsewhere}) {
      row->samples = {{1000, 1}};
      row->code_digest = "of that";
      ASSERT_TRUE(store_->insert(*row).ok());
    }
    if (known.untuned) continue;
    bf16.schedule += "// in bf16";
    ASSERT_TRUE(store_->insert(bf16).ok());
  }
  options_.job_id = store_->add_job({}).value();  // another job, which looks back
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_GE(*runner_.incumbents_ns.begin(), 100'000);
  for (const TaskProgress& task : progress->tasks()) EXPECT_GE(task.best_ns(), 100'000);
}

TEST_F(EarlierJobs, RecallsTheTimeOfWhatWasStoppedEarlySince) {
  ASSERT_TRUE(run().ok());
  for (database::Measurement row : records()) {
    row.outcome = database::Outcome::kStoppedEarly;
    row.finished_unix_ns += 1;
    ASSERT_TRUE(store_->insert(row).ok());
  }
  options_.job_id = store_->add_job({}).value();
  options_.budget.trials = 1;
  runner_.incumbents_ns.clear();
  ASSERT_TRUE(run().ok());
  EXPECT_FALSE(runner_.incumbents_ns.empty()) << "there was nothing to race against";
}

TEST_F(EarlierJobs, GoesOnWhereAnEarlierRunOfTheJobStopped) {
  ASSERT_TRUE(run().ok());
  options_.budget.trials = 40;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 40);
  EXPECT_EQ(records().size(), 40u) << "24 from the first run, 16 new ones";
  std::set<std::string> schedules;
  for (const auto& record : records()) schedules.insert(record.problem.workload.hex() + record.schedule);
  EXPECT_EQ(schedules.size(), 40u) << "the second run measured again what the first had";
}

TEST_F(EarlierJobs, DoesNothingWhenTheJobsBudgetIsSpentAlready) {
  ASSERT_TRUE(run().ok());
  const int runs = runner_.runs;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(runner_.runs, runs);
  EXPECT_GT(progress->trials_per_second(), 0) << "it is the job's, which has trials";
  EXPECT_GT(progress->device_busy_share(), 0);
}

TEST_F(EarlierJobs, TellsFromTheBeginningWhatIsKnownOfTheJob) {
  ASSERT_TRUE(run().ok());
  options_.budget.trials = 25;
  std::vector<Progress> told;
  ASSERT_TRUE(tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& progress) {
                told.push_back(progress);
              }).ok());
  ASSERT_FALSE(told.empty());
  EXPECT_GE(told.front().trials(), 24);
  EXPECT_EQ(told.front().tasks(0).trials() + told.front().tasks(1).trials(), told.front().trials());
  EXPECT_EQ(told.back().trials(), 25);
}

TEST_F(EarlierJobs, TellsTheRateOfAllTrialsOfTheJobWhenThisRunFails) {
  options_.strategy = search::Kind::kAnsorLike;
  runner_.delay = [] { return std::chrono::milliseconds(2); };
  ASSERT_TRUE(run().ok());
  const auto [first, last] = std::ranges::minmax(records(), {}, &database::Measurement::finished_unix_ns);
  const double spent_s = static_cast<double>(last.finished_unix_ns - first.finished_unix_ns) * 1e-9;
  ASSERT_GT(spent_s, 0);
  options_.budget.trials = 48;
  options_.seed = 2;  // so that the search comes by other candidates first
  runner_.fatal = absl::NotFoundError("no device has the key 'pi4'");
  Progress told;
  ASSERT_FALSE(tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& progress) {
                 told = progress;
               }).ok());
  EXPECT_EQ(told.phase(), PHASE_OVER);
  EXPECT_EQ(told.trials(), 24);
  // But for those few that wait behind the one that has failed.
  EXPECT_GT(told.trials_per_second() * spent_s, 12);
  EXPECT_LT(told.trials_per_second() * spent_s, 24.1);
}

// As of a database from before records named it, or of before a change made it the untuned one.
TEST_F(EarlierJobs, MeasuresTheUntunedScheduleAgainIfNoRecordNamesIt) {
  ASSERT_TRUE(run().ok());
  const std::vector<database::Measurement> old = records();
  const auto untuned_rows = [&] {
    return std::ranges::count(records(), true, &database::Measurement::untuned);
  };
  ASSERT_EQ(untuned_rows(), 2) << "one a task";
  store_ = database::make_memory_store();
  for (const Task& task : tasks_)
    ASSERT_TRUE(store_->add_workload({.text = tensor::canonical_text(task.kernel.workload)}).ok());
  for (database::Measurement record : old) {
    record.untuned = false;
    record.job_id = 99;  // of another job
    ASSERT_TRUE(store_->insert(record).ok());
  }
  for (int job = 0; job < 2; ++job) {
    options_.job_id = store_->add_job({}).value();  // a job that looks back
    ASSERT_TRUE(run().ok());
    EXPECT_EQ(untuned_rows(), 2) << "once is enough";
  }
  for (const auto& record : records())
    EXPECT_FALSE(record.untuned && runner_.raced.contains(record.artifact_digest)) << "it has to have a time";
}

TEST_F(EarlierJobs, CountsTheMinutesOfEarlierRunsOfTheJob) {
  ASSERT_TRUE(run().ok());
  const int runs = runner_.runs;
  // The next run of the job finds that its rows span two minutes of tuning.
  options_.budget = {.minutes = 2};
  database::Measurement row = records().front();
  for (int i = 1; i <= 10; ++i) {
    row.schedule = "spread out " + std::to_string(i);
    row.finished_unix_ns += 15'000'000'000;
    ASSERT_TRUE(store_->insert(row).ok());
  }
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(runner_.runs, runs);
}

TEST_F(EarlierJobs, MeasuresNothingTwiceHoweverOftenItIsInterrupted) {
  options_.budget.trials = 120;  // several trainings
  for (const int stop_after : {20, 70, 1000}) {
    stop_ = false;
    runner_.stop_after = stop_after;
    runner_.stop = &stop_;
    const absl::StatusOr<Progress> progress = run();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_EQ(progress->trials(), static_cast<int64_t>(records().size()));
  }
  EXPECT_EQ(runner_.runs, 120);
  std::set<std::string> schedules;
  for (const auto& record : records()) schedules.insert(record.problem.workload.hex() + record.schedule);
  EXPECT_EQ(schedules.size(), 120u);
}

TEST_F(EarlierJobs, WhatAnotherJobMeasuredWhileThisOneWasPausedIsNotMeasuredAgain) {
  options_.budget.trials = 80;
  runner_.stop_after = 20;
  runner_.stop = &stop_;
  ASSERT_TRUE(run().ok());
  stop_ = false;
  const int64_t paused = std::exchange(options_.job_id, store_->add_job({}).value());
  ASSERT_TRUE(run().ok());
  options_.job_id = paused;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 80) << "the other's are no trials of this job";
  std::set<std::string> schedules;
  for (const auto& record : records()) schedules.insert(record.problem.workload.hex() + record.schedule);
  EXPECT_EQ(schedules.size(), 160u);
}

TEST_F(EarlierJobs, OfTheJobCountWhateverMachineMeasured) {
  ASSERT_TRUE(run().ok());
  runner_.fingerprint = "the next board of its class";
  options_.budget.trials = 40;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 40);
  EXPECT_EQ(runner_.runs, 40) << "what the job measured on the first board was measured again";
}

}  // namespace
}  // namespace tf::session
