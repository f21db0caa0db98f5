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

TEST_F(EarlierJobs, LearnsNothingFromTimesTakenInsideTheNetwork) {
  ASSERT_TRUE(run().ok());
  database::Measurement row = records().front();
  row.cache_mode = database::CacheMode::kNetwork;
  row.samples = {{1, 1}};
  ASSERT_TRUE(store_->insert(row).ok());
  options_.job_id = store_->add_job({}).value();  // another job, which looks back
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  for (const TaskProgress& task : progress->tasks) EXPECT_GE(task.best_ns, 100'000);
}

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
  for (const TaskProgress& task : progress->tasks) EXPECT_GE(task.best_ns, 100'000);
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
  EXPECT_EQ(progress->trials, 40);
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
  EXPECT_GT(progress->trials_per_second, 0) << "it is the job's, which has trials";
  EXPECT_GT(progress->device_busy_share, 0);
}

TEST_F(EarlierJobs, TellsFromTheBeginningWhatIsKnownOfTheJob) {
  options_.strategy = search::Kind::kAnsorLike;  // which begins with nothing that each run begins with
  ASSERT_TRUE(run().ok());
  options_.budget.trials = 25;
  options_.seed = 2;                  // so that the search comes by other candidates first
  std::atomic<bool> is_first = true;  // which takes long enough to be told of
  runner_.delay = [&] { return std::chrono::microseconds(is_first.exchange(false) ? 1'500'000 : 0); };
  std::vector<Progress> told;
  ASSERT_TRUE(tune(tasks_, options_, builder_, runner_, *store_, stop_, [&](const Progress& progress) {
                told.push_back(progress);
              }).ok());
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told.front().phase, Phase::kRecalling);
  EXPECT_EQ(told.front().trials, 24);
  EXPECT_EQ(told.front().tasks[0].trials + told.front().tasks[1].trials, 24);
  EXPECT_EQ(told.back().phase, Phase::kOver);
  EXPECT_TRUE(std::ranges::is_sorted(told, {}, &Progress::trials));
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
  EXPECT_EQ(told.phase, Phase::kOver);
  EXPECT_EQ(told.trials, 24);
  // But for those few that wait behind the one that has failed.
  EXPECT_GT(told.trials_per_second * spent_s, 12);
  EXPECT_LT(told.trials_per_second * spent_s, 24.1);
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
    ASSERT_TRUE(store_->add_workload({.text = tensor::canonical_text(task.workload)}).ok());
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

TEST_F(EarlierJobs, GoesOnAfterARestartAsIfItHadNotBeenInterrupted) {
  const auto order = [&] {
    std::vector<std::string> all;
    for (const auto& record : records()) all.push_back(record.problem.workload.hex() + record.schedule);
    return all;
  };
  options_.budget.trials = 120;  // several trainings
  ASSERT_TRUE(run().ok());
  const std::vector<std::string> expected = order();
  ASSERT_EQ(expected.size(), 120u);

  store_ = database::make_memory_store();
  options_.job_id = store_->add_job({}).value();
  runner_.runs = 0;
  for (const int stop_after : {20, 70, 1000}) {
    stop_ = false;
    runner_.stop_after = stop_after;
    runner_.stop = &stop_;
    const absl::StatusOr<Progress> progress = run();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_EQ(progress->trials, static_cast<int64_t>(records().size()));
  }
  EXPECT_EQ(runner_.runs, 120) << "what an earlier run measured was measured again";
  EXPECT_EQ(order(), expected);
}

// A job that was paused, another one of the same tasks, and the first again.
class PausedJob : public TuneTest {
 protected:
  std::vector<std::string> order_of(int64_t job) {
    std::vector<std::string> all;
    for (const auto& record : records())
      if (record.job_id == job) all.push_back(record.problem.workload.hex() + record.schedule);
    return all;
  }
  void run_until(int runs) {
    stop_ = false;
    runner_.runs = 0;
    runner_.stop_after = runs;
    runner_.stop = &stop_;
    ASSERT_TRUE(run().ok());
    stop_ = false;
    runner_.stop_after = 0;
  }
  // As the other job, of another seed.
  void run_other() {
    const int64_t paused = std::exchange(options_.job_id, store_->add_job({}).value());
    options_.seed = 2;
    ASSERT_TRUE(run().ok());
    options_.seed = 1;
    other_ = std::exchange(options_.job_id, paused);
  }
  // With the same rows and jobs.
  std::unique_ptr<database::Store> copy_of_store() {
    std::unique_ptr<database::Store> copy = database::make_memory_store();
    for (const Task& task : tasks_)
      EXPECT_TRUE(copy->add_workload({.text = tensor::canonical_text(task.workload)}).ok());
    const std::vector<database::Job> jobs = *store_->jobs();
    for (const database::Job& job : jobs) {
      EXPECT_EQ(*copy->add_job(job), job.id);
      if (const auto rates = *store_->job_rates(job.id)) {
        EXPECT_TRUE(copy->save_job_rates(*rates).ok());
      }
    }
    for (const database::Measurement& record : records()) EXPECT_TRUE(copy->insert(record).ok());
    return copy;
  }
  int64_t other_ = 0;
};

TEST_F(PausedJob, MeasuresNothingThatAnotherHasMeanwhile) {
  options_.budget.trials = 80;
  run_until(20);
  ASSERT_LT(order_of(options_.job_id).size(), 80u);
  std::unique_ptr<database::Store> alone = copy_of_store();
  run_other();
  const std::vector<std::string> others = order_of(other_);
  const auto shared = [&] {
    const std::vector<std::string> own = order_of(options_.job_id);
    EXPECT_EQ(own.size(), 80u) << "what the other measured is no trial of this one";
    const std::set<std::string> by_other(others.begin(), others.end());
    return std::ranges::count_if(own, [&](const std::string& each) { return by_other.contains(each); });
  };
  const auto shared_before = [&] {
    return std::ranges::count_if(order_of(options_.job_id), [&](const std::string& each) {
      return std::ranges::find(others, each) != others.end();
    });
  }();
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(shared(), shared_before);

  store_ = std::move(alone);
  ASSERT_TRUE(run().ok());
  EXPECT_GT(shared(), shared_before) << "they come by the same ones";
}

TEST_F(PausedJob, GoesOnWithWhatAnotherMeasuredAsIfItHadNotBeenInterruptedAgain) {
  options_.budget.trials = 80;
  run_until(20);
  run_other();
  std::unique_ptr<database::Store> same = copy_of_store();
  ASSERT_TRUE(run().ok());
  const std::vector<std::string> expected = order_of(options_.job_id);
  ASSERT_EQ(expected.size(), 80u);

  store_ = std::move(same);
  run_until(30);
  ASSERT_LT(order_of(options_.job_id).size(), 80u);
  // Somebody measures again what this job was told of by then.
  const int64_t third = store_->add_job({}).value();
  for (database::Measurement row : records()) {
    if (row.job_id != other_) continue;
    row.job_id = third;
    row.samples = {{1'000'000, 1}};
    row.finished_unix_ns += 1'000'000'000;
    ASSERT_TRUE(store_->insert(row).ok());
  }
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(order_of(options_.job_id), expected);
}

// Of a schedule that was a duplicate in this job: it had, and has, the time of that trial.
TEST_F(PausedJob, TakesItsOwnTrialOfTheSameCode) {
  options_.budget.trials = 24;
  ASSERT_TRUE(run().ok());
  const std::vector<database::Measurement> of_any = records();

  store_ = database::make_memory_store();
  options_.job_id = store_->add_job({}).value();
  builder_.same_code = true;
  ASSERT_TRUE(run().ok());
  const std::vector<std::string> own = order_of(options_.job_id);
  ASSERT_LT(own.size(), 24u);
  const int64_t other = store_->add_job({}).value();
  for (database::Measurement row : of_any) {
    if (std::ranges::find(own, row.problem.workload.hex() + row.schedule) != own.end()) continue;
    row.job_id = other;
    row.code_digest = "the one";
    row.samples = {{1000, 1}};
    ASSERT_TRUE(store_->insert(row).ok());
  }
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  for (const TaskProgress& task : progress->tasks) EXPECT_GE(task.best_ns, 100'000);
  EXPECT_EQ(order_of(options_.job_id), own);
}

}  // namespace
}  // namespace tf::session
