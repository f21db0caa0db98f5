#include "tuner/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/equal.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "database/memory_store.h"
#include "tests/support/database/forwarding_store.h"
#include "tests/support/tuner/test_problems.h"
#include "tests/unit/tuner/session/tune_fixture.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::session {
namespace {

TEST_F(TuneTest, SpendsItsBudgetOfTrialsAndRecordsEachOnce) {
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_FALSE(progress->nothing_new()) << "its budget was spent";
  EXPECT_EQ(records().size(), 24u);
  EXPECT_EQ(runner_.acknowledged, 24);
  std::set<std::string> schedules;
  for (const auto& record : records()) schedules.insert(record.problem.workload.hex() + record.schedule);
  EXPECT_EQ(schedules.size(), 24u) << "a candidate was measured twice";
  EXPECT_GT(progress->tasks(0).best_ns(), 0);
}

TEST_F(TuneTest, TellsTheTimesOfTheUntunedSchedules) {
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  for (const TaskProgress& task : progress->tasks()) {
    EXPECT_GE(task.untuned_ns(), task.best_ns());
    EXPECT_GT(task.untuned_ns(), 0);
  }
}

TEST_F(TuneTest, MeasuresTheBaselinesCandidatesOnceEachForAHundredMilliseconds) {
  options_.strategy = search::Kind::kAnsorLike;
  options_.finals = true;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_THAT(runner_.samplings, testing::ElementsAre(testing::Pair(1u, 100'000'000)));
  EXPECT_TRUE(runner_.raced.empty());
  EXPECT_EQ(runner_.runs, 24) << "the best are too close to call, and still there is no final re-measurement";
}

TEST_F(TuneTest, MeasuresAndRecordsAtTheNetworksReuseDistance) {
  for (Task& task : tasks_) task.kernel.reuse_distance_bytes = 12 << 20;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(runner_.reuse_distances, std::set<uint64_t>{12 << 20}) << "final re-measurements too";
  for (const auto& record : records()) EXPECT_EQ(record.problem.reuse_distance_bytes, 12u << 20);
}

TEST_F(TuneTest, KeepsNoTimesOfADeviceThatIgnoresTheReuseDistance) {
  for (Task& task : tasks_) task.kernel.reuse_distance_bytes = 12 << 20;
  runner_.knows_reuse_distance = false;
  const absl::Status status = run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("upgrade its agent"));
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(runner_.acknowledged, runner_.runs) << "the farm need not keep them either";
}

// Built candidates are collected for a turn of measuring: they are not measured once somebody stops.
TEST_F(TuneTest, FinishesOnlyWhatIsOnADeviceOnceItIsStopped) {
  constexpr int kStopAfter = 8;
  options_.takes_turns = true;
  options_.budget.trials = 200;
  runner_.delay = [] { return std::chrono::milliseconds(200); };
  runner_.stop = &stop_;
  runner_.stop_after = kStopAfter;
  std::optional<int64_t> finishing;
  const auto report = [&](const Progress& progress) {
    if (!finishing && progress.has_finishing()) finishing = progress.finishing();
  };
  const absl::StatusOr<Progress> progress = tune(tasks_, options_, builder_, runner_, *store_, stop_, report);
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_LE(runner_.runs, kStopAfter + 4);
  ASSERT_TRUE(finishing.has_value());
  EXPECT_LE(*finishing, 4);
  EXPECT_GE(progress->trials(), kStopAfter) << "what was measured is kept";
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
  EXPECT_EQ(progress->failures(), errors + crashes);
  EXPECT_THAT(progress->failed_by(), testing::UnorderedElementsAre(testing::Pair("compile_error", errors),
                                                                   testing::Pair("crashed", crashes)));
  const auto best = store_->best({.problem = tensor::key_for(tasks_[0].kernel, options_.target, 1)});
  ASSERT_TRUE(best.ok() && best->has_value());
  EXPECT_EQ((*best)->outcome, database::Outcome::kOk);
}

TEST_F(TuneTest, TriesAgainWhatCouldNotBeMeasuredAndNotesTheAttempt) {
  runner_.lose_every = 3;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_GT(progress->not_measured(), 0);
  EXPECT_EQ(store_->count_attempts(options_.job_id).value(), progress->not_measured());
  for (const auto& record : records())
    EXPECT_EQ(record.outcome, database::Outcome::kOk) << "a lost agent is no outcome";
}

TEST_F(TuneTest, MeasuresAgainWhatAnOlderLeaseMeasured) {
  runner_.stale_every = 4;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_EQ(records().size(), 24u);
  for (const auto& record : records()) EXPECT_EQ(record.lease->epoch, 2u);
  EXPECT_EQ(progress->not_measured(), runner_.runs / 4);
}

TEST_F(TuneTest, MeasuresTheUntunedScheduleOfEachTaskFirstWhateverTheStrategy) {
  for (const search::Kind kind : {search::Kind::kEvolutionary, search::Kind::kRandom, search::Kind::kGrid}) {
    store_ = database::make_memory_store();
    options_.strategy = kind;
    options_.job_id = store_->add_job({}).value();
    options_.budget.trials = 6;
    ASSERT_TRUE(run().ok());
    for (const Task& task : tasks_) {
      const schedule::Schedule untuned =
          recipes::default_schedule({.workload = task.kernel.workload, .target = options_.target});
      bool found = false;
      std::vector<std::string> schedules;
      for (const auto& record : records()) {
        found = found || record.schedule.starts_with(schedule::to_string(untuned));
        schedules.push_back(record.schedule);
      }
      const auto untuned_rows = std::ranges::count_if(records(), [&](const auto& record) {
        return record.untuned && record.problem.workload == tensor::workload_key(task.kernel.workload);
      });
      EXPECT_EQ(untuned_rows, 1) << "named in its record";
      EXPECT_TRUE(found) << task.label << ", strategy " << static_cast<int>(kind) << "\n"
                         << schedule::to_string(untuned) << "not in\n"
                         << testing::PrintToString(schedules);
    }
  }
}

TEST_F(TuneTest, RecordsAsImplausibleWhatNoDeviceCanMeasure) {
  runner_.is_absurd = true;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->failures(), 24);
  for (const auto& record : records()) {
    EXPECT_EQ(record.outcome, database::Outcome::kImplausible);
    EXPECT_TRUE(record.samples.empty());
    EXPECT_THAT(record.detail, testing::HasSubstr("a sample of -1 ns"));
  }
  EXPECT_EQ(runner_.acknowledged, 24);
}

TEST_F(TuneTest, GoesOnWithTheOtherTasksWhenOneHasNoReference) {
  builder_.hopeless_reference = tensor::canonical_text(tasks_[0].kernel.workload);
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_EQ(progress->tasks(0).trials(), 0);
  EXPECT_THAT(progress->tasks(0).given_up(), testing::HasSubstr("no code for this one"));
  EXPECT_TRUE(progress->tasks(1).given_up().empty());
}

TEST_F(TuneTest, BuildsAReferenceAgainThatAnOverloadedMachineSpoiled) {
  builder_.late_references = 2;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials(), 24);
  EXPECT_TRUE(progress->tasks(0).given_up().empty());
}

// A store whose disk fills up after some rows.
class FullStore final : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::StatusOr<database::InsertResult> insert(const database::Measurement& measurement,
                                                database::Origin origin) override {
    if (++inserts_ > 5) return absl::ResourceExhaustedError("the disk is full");
    return ForwardingStore::insert(measurement, origin);
  }

 private:
  int inserts_ = 0;
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

TEST_F(TuneTest, EndsWithWhatTheRunnerSaysWhenThatWillNotGetBetter) {
  runner_.fatal = absl::NotFoundError("no device has the key 'pi4'");
  const absl::StatusOr<Progress> progress = run();
  ASSERT_FALSE(progress.ok());
  EXPECT_EQ(progress.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(progress.status().message()), testing::HasSubstr("pi4"));
  EXPECT_TRUE(records().empty());
}

TEST_F(TuneTest, EndsWhenLittleIsExpectedOfTheNextMinute) {
  options_.budget = {.until_gain = 0.9};
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_GE(progress->trials(), 16) << "every task has its first trials";
  for (const TaskProgress& task : progress->tasks()) EXPECT_FALSE(task.exhausted());
  ASSERT_TRUE(progress->has_expected_gain());
  EXPECT_LT(progress->expected_gain(), 0.9);
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

TEST_F(TuneTest, GivesAnEighthOfTheTrialsToWhatOtherLayoutsNeed) {
  tasks_[1].weight = 0;
  options_.budget.trials = 64;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->tasks(1).trials(), 8);
  EXPECT_EQ(progress->tasks(1).weight(), 0) << "the network does not run it";
}

TEST_F(TuneTest, MeasuresNoCodeTwice) {
  builder_.same_code = true;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(records().size(), 2u) << "one code a task";
  EXPECT_EQ(runner_.runs, 2);
  EXPECT_GT(progress->duplicates(), 10);
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
      if (tensor::workload_key(task.kernel.workload).hex() != record.problem.workload.hex()) continue;
      const auto hash =
          passes::loops_hash(task.kernel.workload, schedule::parse_schedule(record.schedule).value(), {});
      ASSERT_TRUE(hash.ok()) << hash.status();
      EXPECT_TRUE(loops[task.label].insert(*hash).second) << record.schedule;
    }
  }
}

// Over points that differ in splits and unroll limits: what the tuner takes for the same must be.
TEST(LoopsHash, IsOneOnlyForSchedulesThatLowerToTheSame) {
  const tensor::KernelSpec problem = test::matmul_problem(24, 32, 12);
  const space::DesignSpace space =
      space::generate_space(tensor::for_target(problem, target::host_target(), 1));
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
  EXPECT_EQ(progress->trials(), 0);
}

TEST_F(TuneTest, RefusesANetworkWithNothingToTune) {
  tasks_.clear();
  EXPECT_EQ(run().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tf::session
