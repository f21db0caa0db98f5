#include "tuner/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "compiler/ir/equal.h"
#include "compiler/passes/lower.h"
#include "compiler/schedule/default_schedule.h"
#include "database/memory_store.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/session/playoff.h"
#include "tuner/session/playoff_run.h"
#include "tuner/session/requests_proto.h"
#include "tuner/space/generate.h"
#include "tuner/space/sampling.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

// Makes an "artifact" that carries its schedule, so that the fake device can tell candidates apart.
class FakeBuilder final : public measure::Builder {
 public:
  absl::StatusOr<kernel::BuildReply> build(const kernel::BuildRequest& request) override {
    kernel::BuildReply reply;
    const std::string& schedule = request.kernel().schedule();
    if (refuse_every > 0 && ++builds_ % refuse_every == 0 && !request.kernel().reference()) {
      reply.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
      reply.set_message("refused by the test");
      return reply;
    }
    if (request.kernel().reference() && request.kernel().workload() == hopeless_reference) {
      reply.set_code(static_cast<int>(absl::StatusCode::kUnimplemented));
      reply.set_message("no code for this one");
      return reply;
    }
    if (request.kernel().reference() && late_references-- > 0) {
      reply.set_code(static_cast<int>(absl::StatusCode::kDeadlineExceeded));
      reply.set_message("the build worker took too long");
      return reply;
    }
    reply.mutable_artifact()->mutable_manifest()->set_computation(request.kernel().reference() ? "reference"
                                                                                               : schedule);
    if (same_code) reply.set_code_digest("the one");
    return reply;
  }
  int slots() const override { return 2; }
  void cancel() override {}
  int refuse_every = 0;
  bool same_code = false;
  std::string hopeless_reference;  // canonical text of a workload
  std::atomic<int> late_references{0};

 private:
  std::atomic<int> builds_{0};
};

class FakeRunner final : public measure::Runner {
 public:
  absl::StatusOr<farm::TrialResult> run(const measure::MeasureRequest& request) override {
    std::lock_guard lock(mutex_);
    if (++runs == stop_after) *stop = true;
    if (lose_every > 0 && runs % lose_every == 0) return absl::UnavailableError("the agent went away");
    if (!fatal.ok()) return fatal;
    EXPECT_FALSE(request.reference.digest.empty()) << "an answer must be checked";
    const bool is_first = measured.insert(request.candidate.digest).second;
    reuse_distances.insert(request.trial->options().reuse_distance_bytes());
    farm::TrialResult result;
    result.set_artifact_digest(request.candidate.digest);
    if (knows_reuse_distance)
      result.set_reuse_distance_bytes(request.trial->options().reuse_distance_bytes());
    if (stale_every > 0) {
      // Every so often a result of a lease that the slot has moved on from.
      const bool stale = runs % stale_every == 0;
      result.set_slot("desk/0");
      result.set_lease_id(stale ? "old" : "new");
      result.set_epoch(stale ? 1 : 2);
      result.set_sequence(static_cast<uint64_t>(runs));
    }
    result.set_outcome(fail_every > 0 && runs % fail_every == 0 ? farm::OUTCOME_CRASHED : farm::OUTCOME_OK);
    if (result.outcome() == farm::OUTCOME_OK) {
      farm::Sample& sample = *result.add_samples();
      sample.set_iterations(1);
      sample.set_total_ns(1000 + request.candidate.digest[0] + (is_lucky_first && is_first ? 0 : unlucky_ns));
    }
    return result;
  }
  void acknowledge(const farm::TrialResult&) override { ++acknowledged; }
  int slots() const override { return 1; }
  absl::StatusOr<farm::DeviceState> device() override { return farm::DeviceState(); }
  void cancel() override {}

  int stop_after = 0;  // runs; 0: never
  std::atomic<bool>* stop = nullptr;
  bool is_lucky_first = false;  // only the first measurement of a candidate is without unlucky_ns
  int64_t unlucky_ns = 0;
  int runs = 0, lose_every = 0, fail_every = 0, stale_every = 0;
  std::atomic<int> acknowledged{0};
  absl::Status fatal;
  std::set<std::string> measured;
  std::set<uint64_t> reuse_distances;
  bool knows_reuse_distance = true;

 private:
  std::mutex mutex_;
};

class TuneTest : public testing::Test {
 protected:
  TuneTest() {
    options_.target = target::parse_target("x86_64:cpu=znver4").value();
    options_.budget.trials = 24;
    options_.retry_delay = absl::Milliseconds(5);
    options_.play_off = false;  // where nothing else is said
    database::Job job;
    job.model_name = "test";
    options_.job_id = store_->add_job(job).value();
    for (int64_t size : {32, 48})
      tasks_.push_back({.label = "product", .workload = test::matmul_bias_relu(size, size, size)});
  }

  absl::StatusOr<Progress> run() {
    return tune(tasks_, options_, builder_, runner_, *store_, stop_, [](const Progress&) {});
  }

  std::vector<database::Measurement> records() {
    std::vector<database::Measurement> all;
    EXPECT_TRUE(store_
                    ->scan({},
                           [&](const database::Measurement& m) {
                             all.push_back(m);
                             return absl::OkStatus();
                           })
                    .ok());
    return all;
  }

  std::unique_ptr<database::Store> store_ = database::make_memory_store();
  FakeBuilder builder_;
  FakeRunner runner_;
  SessionOptions options_;
  std::vector<Task> tasks_;
  std::atomic<bool> stop_{false};
};

TEST_F(TuneTest, SpendsItsBudgetOfTrialsAndRecordsEachOnce) {
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_EQ(records().size(), 24u);
  EXPECT_EQ(runner_.acknowledged, 24);
  std::set<std::string> schedules;
  for (const auto& record : records()) schedules.insert(record.problem.workload.hex() + record.schedule);
  EXPECT_EQ(schedules.size(), 24u) << "a candidate was measured twice";
  EXPECT_GT(progress->tasks[0].best_ns, 0);
}

TEST_F(TuneTest, TellsTheTimesOfTheUntunedSchedules) {
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  for (const TaskProgress& task : progress->tasks) {
    EXPECT_GE(task.untuned_ns, task.best_ns);
    EXPECT_GT(task.untuned_ns, 0);
  }
}

TEST_F(TuneTest, LearnsNothingFromTimesTakenInsideTheNetwork) {
  ASSERT_TRUE(run().ok());
  database::Measurement row = records().front();
  row.cache_mode = database::CacheMode::kNetwork;
  row.samples = {{1, 1}};
  ASSERT_TRUE(store_->insert(row).ok());
  options_.job_id = store_->add_job({}).value();  // another job, which looks back
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  for (const TaskProgress& task : progress->tasks) EXPECT_GT(task.best_ns, 1000);
}

TEST_F(TuneTest, MeasuresAndRecordsAtTheNetworksReuseDistance) {
  for (Task& task : tasks_) task.reuse_distance_bytes = 12 << 20;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(runner_.reuse_distances, std::set<uint64_t>{12 << 20}) << "play-offs too";
  for (const auto& record : records()) EXPECT_EQ(record.problem.reuse_distance_bytes, 12u << 20);
}

TEST_F(TuneTest, KeepsNoTimesOfADeviceThatIgnoresTheReuseDistance) {
  for (Task& task : tasks_) task.reuse_distance_bytes = 12 << 20;
  runner_.knows_reuse_distance = false;
  const absl::Status status = run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("upgrade its agent"));
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(runner_.acknowledged, runner_.runs) << "the farm need not keep them either";
}

TEST_F(TuneTest, GoesOnWhereAnEarlierRunOfTheJobStopped) {
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

TEST_F(TuneTest, DoesNothingWhenTheJobsBudgetIsSpentAlready) {
  ASSERT_TRUE(run().ok());
  const int runs = runner_.runs;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(runner_.runs, runs);
}

TEST_F(TuneTest, RecordsCompileErrorsAndCrashesAsOutcomesAndNeverAsBest) {
  builder_.refuse_every = 5;
  runner_.fail_every = 4;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  int errors = 0, crashes = 0;
  for (const auto& record : records()) {
    errors += record.outcome == database::Outcome::kCompileError;
    crashes += record.outcome == database::Outcome::kCrashed;
  }
  EXPECT_GT(errors, 0);
  EXPECT_GT(crashes, 0);
  EXPECT_EQ(progress->failures, errors + crashes);
  const auto best = store_->best({.problem = problem_of(tasks_[0], options_.target.text(), 1)});
  ASSERT_TRUE(best.ok() && best->has_value());
  EXPECT_EQ((*best)->outcome, database::Outcome::kOk);
}

TEST_F(TuneTest, TriesAgainWhatCouldNotBeMeasuredAndNotesTheAttempt) {
  runner_.lose_every = 3;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_GT(progress->not_measured, 0);
  EXPECT_EQ(store_->count_attempts(options_.job_id).value(), progress->not_measured);
  for (const auto& record : records())
    EXPECT_EQ(record.outcome, database::Outcome::kOk) << "a lost agent is no outcome";
}

TEST_F(TuneTest, MeasuresAgainWhatAnOlderLeaseMeasured) {
  runner_.stale_every = 4;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_EQ(records().size(), 24u);
  for (const auto& record : records()) EXPECT_EQ(record.lease->epoch, 2u);
  EXPECT_EQ(progress->not_measured, runner_.runs / 4);
}

TEST_F(TuneTest, MeasuresTheUntunedScheduleOfEachTaskFirstWhateverTheStrategy) {
  for (const search::Kind kind : {search::Kind::kEvolutionary, search::Kind::kRandom, search::Kind::kGrid}) {
    store_ = database::make_memory_store();
    options_.strategy = kind;
    options_.job_id = store_->add_job({}).value();
    options_.budget.trials = 6;
    ASSERT_TRUE(run().ok());
    for (const Task& task : tasks_) {
      const schedule::Schedule untuned = schedule::default_schedule(task.workload, {}, options_.target, 1);
      bool found = false;
      std::vector<std::string> schedules;
      for (const auto& record : records()) {
        found = found || record.schedule.starts_with(schedule::to_string(untuned));
        schedules.push_back(record.schedule);
      }
      const auto untuned_rows = std::ranges::count_if(records(), [&](const auto& record) {
        return record.untuned && record.problem.workload.digest == tensor::workload_key(task.workload);
      });
      EXPECT_EQ(untuned_rows, 1) << "named in its record";
      EXPECT_TRUE(found) << task.label << ", strategy " << static_cast<int>(kind) << "\n"
                         << schedule::to_string(untuned) << "not in\n"
                         << testing::PrintToString(schedules);
    }
  }
}

TEST_F(TuneTest, GoesOnWithTheOtherTasksWhenOneHasNoReference) {
  builder_.hopeless_reference = tensor::canonical_text(tasks_[0].workload);
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_EQ(progress->tasks[0].trials, 0);
  EXPECT_THAT(progress->tasks[0].given_up, testing::HasSubstr("no code for this one"));
  EXPECT_TRUE(progress->tasks[1].given_up.empty());
}

TEST_F(TuneTest, BuildsAReferenceAgainThatAnOverloadedMachineSpoiled) {
  builder_.late_references = 2;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_TRUE(progress->tasks[0].given_up.empty());
}

// A store whose disk fills up after some rows.
class FullStore final : public database::Store {
 public:
  explicit FullStore(database::Store& store) : store_(store) {}
  using database::Store::insert;
  absl::StatusOr<database::InsertResult> insert(const database::Measurement& m,
                                                database::Origin origin) override {
    if (++inserts > 5) return absl::ResourceExhaustedError("the disk is full");
    return store_.insert(m, origin);
  }
  int inserts = 0;

  absl::StatusOr<std::vector<database::Measurement>> top(const database::BestQuery& q, size_t n) override {
    return store_.top(q, n);
  }
  absl::StatusOr<database::Workload> find_workload(const std::string& key) override {
    return store_.find_workload(key);
  }
  absl::StatusOr<std::vector<database::Workload>> workloads() override { return store_.workloads(); }
  absl::StatusOr<std::vector<database::Problem>> problems() override { return store_.problems(); }
  absl::Status scan(const database::Filter& f, const database::Visitor& v) override {
    return store_.scan(f, v);
  }
  absl::StatusOr<database::Measurement> find_record(const Digest& d) override {
    return store_.find_record(d);
  }
  absl::StatusOr<bool> is_measured(const database::Problem& p, const std::string& s) override {
    return store_.is_measured(p, s);
  }
  absl::Status add_workload(const database::Workload& w) override { return store_.add_workload(w); }
  void insert_async(const database::Measurement& m, database::Origin origin,
                    database::InsertDone done) override {
    done(insert(m, origin));
  }
  absl::Status add_attempt(const database::Attempt& a) override { return store_.add_attempt(a); }
  absl::StatusOr<int64_t> count_trials(int64_t job) override { return store_.count_trials(job); }
  absl::StatusOr<int64_t> count_attempts(int64_t job) override { return store_.count_attempts(job); }
  absl::StatusOr<int64_t> add_job(const database::Job& j) override { return store_.add_job(j); }
  absl::Status update_job(const database::Job& j) override { return store_.update_job(j); }
  absl::StatusOr<database::Job> find_job(int64_t id) override { return store_.find_job(id); }
  absl::StatusOr<std::vector<database::Job>> jobs() override { return store_.jobs(); }
  absl::Status save_job_tasks(const std::vector<database::JobTask>& t) override {
    return store_.save_job_tasks(t);
  }
  absl::StatusOr<std::vector<database::JobTask>> job_tasks(int64_t id) override {
    return store_.job_tasks(id);
  }

 private:
  database::Store& store_;
};

TEST_F(TuneTest, EndsWithWhatTheStoreSaysWhenAResultCannotBeKept) {
  FullStore full(*store_);
  const absl::StatusOr<Progress> progress =
      tune(tasks_, options_, builder_, runner_, full, stop_, [](const Progress&) {});
  ASSERT_FALSE(progress.ok());
  EXPECT_THAT(std::string(progress.status().message()), testing::HasSubstr("the disk is full"));
  EXPECT_EQ(records().size(), 5u);
  EXPECT_EQ(runner_.acknowledged, 5) << "only what is kept is acknowledged";
}

TEST_F(TuneTest, CountsTheMinutesOfEarlierRunsOfTheJob) {
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

TEST_F(TuneTest, EndsWithWhatTheRunnerSaysWhenThatWillNotGetBetter) {
  runner_.fatal = absl::NotFoundError("no device has the key 'pi4'");
  const absl::StatusOr<Progress> progress = run();
  ASSERT_FALSE(progress.ok());
  EXPECT_EQ(progress.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(progress.status().message()), testing::HasSubstr("pi4"));
  EXPECT_TRUE(records().empty());
}

TEST_F(TuneTest, LetsTheBestThatAreTooCloseToCallMeetAgainInTheEnd) {
  options_.play_off = true;
  ASSERT_TRUE(run().ok());
  // The fake device's times differ by less than noise, and never change.
  std::map<std::string, std::vector<database::Measurement>> rows;
  for (const auto& record : records())
    rows[record.problem.workload.hex() + record.schedule].push_back(record);
  EXPECT_EQ(rows.size(), 24u) << "nothing new is tried in a play-off";
  int again = 0;
  for (const auto& [schedule, measured] : rows) {
    if (measured.size() == 1) continue;
    ++again;
    EXPECT_GE(measured.back().samples.size(), 2u);
  }
  EXPECT_GE(again, 2);
  EXPECT_LE(again, 2 * static_cast<int>(Playoff::kFinalists)) << "of two tasks";
  const int runs = runner_.runs;
  const absl::StatusOr<Progress> more = run();
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->trials, 24) << "rows of play-offs are no trials";
  EXPECT_EQ(runner_.runs, runs) << "nothing was tuned, so there is nothing to decide";
}

TEST_F(TuneTest, ThePlayOffEndsOnlyWhenWhoLooksFastestHasTakenPart) {
  options_.play_off = true;
  runner_.is_lucky_first = true;
  runner_.unlucky_ns = 400;
  options_.budget.trials = 100;
  ASSERT_TRUE(run().ok());
  std::map<std::string, int> rows;
  for (const auto& record : records()) ++rows[record.problem.workload.hex() + record.schedule];
  const auto again = std::ranges::count_if(rows, [](const auto& row) { return row.second > 1; });
  EXPECT_GT(again, 2 * static_cast<int>(Playoff::kFinalists)) << "then those that had been lucky, too";
}

TEST_F(TuneTest, BeginsNoRoundOfAPlayOffAfterTheDeadline) {
  const std::string target = options_.target.text();
  const auto schedule =
      schedule::to_string(schedule::default_schedule(tasks_[0].workload, {}, options_.target, 1));
  const Contender contender{candidate_request(tasks_[0], target, schedule),
                            {.median_ns = 1000, .low_ns = 900, .high_ns = 1100}};
  const std::vector<Match> matches = {{.task = 0, .contenders = {contender, contender}}};
  Pipeline pipeline(builder_, runner_, {.tasks = {{reference_request(tasks_[0], target)}}});
  using Time = std::chrono::steady_clock::time_point;
  EXPECT_TRUE(play_off(pipeline, matches, stop_, Time::min()).empty());
  EXPECT_EQ(runner_.runs, 0);
  const std::vector<Played> played = play_off(pipeline, matches, stop_, Time::max());
  ASSERT_EQ(played.size(), 2u);
  EXPECT_EQ(played[0].results.size(), Playoff::kRounds);
}

TEST_F(TuneTest, EndsWhenLittleIsExpectedOfTheNextMinute) {
  options_.budget = {.until_gain = 0.9};
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_GE(progress->trials, 16) << "every task has its first trials";
  for (const TaskProgress& task : progress->tasks) EXPECT_FALSE(task.exhausted);
  ASSERT_TRUE(progress->expected_gain.has_value());
  EXPECT_LT(*progress->expected_gain, 0.9);
}

TEST_F(TuneTest, ProposesTheSameForTheSameSeedAndResultsWhateverTheThreadsDo) {
  options_.budget.trials = 60;
  std::vector<std::set<std::string>> tried;
  for (int turn = 0; turn < 2; ++turn) {
    store_ = database::make_memory_store();
    options_.job_id = store_->add_job({}).value();
    ASSERT_TRUE(run().ok());
    std::vector<std::string> order;
    for (const auto& record : records()) order.push_back(record.problem.workload.hex() + record.schedule);
    tried.emplace_back(order.begin(), order.end());
    EXPECT_EQ(order.size(), 60u);
  }
  EXPECT_EQ(tried[0], tried[1]);
}

TEST_F(TuneTest, GoesOnAfterARestartAsIfItHadNotBeenInterrupted) {
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

TEST_F(TuneTest, MeasuresNoCodeTwice) {
  builder_.same_code = true;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(records().size(), 2u) << "one code a task";
  EXPECT_EQ(runner_.runs, 2);
  EXPECT_GT(progress->twins, 10);
  const absl::StatusOr<Progress> again = run();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(runner_.runs, 2) << "an earlier run measured it";
}

TEST_F(TuneTest, MeasuresNoLoopsTwice) {
  options_.budget.trials = 60;
  ASSERT_TRUE(run().ok());
  std::map<std::string, std::set<uint64_t>> loops;
  for (const auto& record : records()) {
    for (const Task& task : tasks_) {
      if (tensor::workload_key(task.workload).hex() != record.problem.workload.hex()) continue;
      const auto hash =
          passes::loops_hash(task.workload, schedule::parse_schedule(record.schedule).value(), {});
      ASSERT_TRUE(hash.ok()) << hash.status();
      EXPECT_TRUE(loops[task.label].insert(*hash).second) << record.schedule;
    }
  }
}

// Over points that differ in splits and unroll limits: what the tuner takes for the same must be.
TEST(LoopsHash, IsOneOnlyForSchedulesThatLowerToTheSame) {
  const space::Problem problem = test::matmul_problem(24, 32, 12);
  const space::DesignSpace space = space::generate_space(problem, target::host_target(), 1);
  space::Random random(5);
  std::map<uint64_t, ir::Function> lowered;
  int same = 0;
  for (int draw = 0; draw < 400; ++draw) {
    const schedule::Schedule schedule = space.schedule_of(space::sample(space, random));
    const auto hash = passes::loops_hash(problem.workload, schedule, {});
    const auto function = passes::lower(problem.workload, schedule, {});
    ASSERT_EQ(hash.ok(), function.ok());
    if (!hash.ok()) continue;
    const auto [first, is_new] = lowered.try_emplace(*hash, function->function);
    if (is_new) continue;
    ++same;
    EXPECT_TRUE(ir::equal(first->second, function->function)) << schedule::to_string(schedule);
  }
  EXPECT_GT(same, 20);
}

TEST_F(TuneTest, DrainsWhenAskedToStop) {
  stop_ = true;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->trials, 0);
}

TEST_F(TuneTest, RefusesANetworkWithNothingToTune) {
  tasks_.clear();
  EXPECT_EQ(run().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tf::session
