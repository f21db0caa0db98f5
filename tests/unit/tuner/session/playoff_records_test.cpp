#include "tuner/session/playoff_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/schedule/default_schedule.h"
#include "tests/unit/tuner/session/tune_fixture.h"
#include "tuner/session/playoff.h"
#include "tuner/session/playoff_run.h"
#include "tuner/session/requests_proto.h"

namespace tf::session {
namespace {

using Rows = std::map<std::string, std::vector<database::Measurement>>;

class PlayOffTest : public TuneTest {
 protected:
  PlayOffTest() { options_.play_off = true; }

  Rows rows_by_schedule() {
    Rows rows;
    for (const auto& record : records())
      rows[record.problem.workload.hex() + record.schedule].push_back(record);
    return rows;
  }
  database::Measurement fastest_of(const Task& task) {
    return store_->top({.problem = problem_of(task, options_.target.text(), 1)}, 1).value().front();
  }
};

TEST_F(PlayOffTest, LetsTheBestThatAreTooCloseToCallMeetAgain) {
  ASSERT_TRUE(run().ok());
  // The fake device's times differ by less than noise, and never change.
  const Rows rows = rows_by_schedule();
  EXPECT_EQ(rows.size(), 24u) << "nothing new is tried in a play-off";
  int again = 0;
  for (const auto& [schedule, measured] : rows) {
    if (measured.size() == 1) continue;
    ++again;
    EXPECT_GE(measured.back().samples.size(), 2u);
    EXPECT_TRUE(measured.back().match.has_value());
  }
  EXPECT_GE(again, 2);
  EXPECT_LE(again, 2 * static_cast<int>(Playoff::kFinalists)) << "of two tasks";
  const int runs = runner_.runs;
  const absl::StatusOr<Progress> more = run();
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->trials, 24) << "rows of play-offs are no trials";
  EXPECT_EQ(runner_.runs, runs) << "nothing was tuned, so there is nothing to decide";
}

// The second job's play-offs measure again what the first one tried.
TEST_F(PlayOffTest, IsNoTrialOfAJobThatGoesOnWhoeverTriedItsSchedules) {
  options_.play_off = false;
  ASSERT_TRUE(run().ok());
  options_.play_off = true;
  options_.job_id = store_->add_job({}).value();
  ASSERT_TRUE(run().ok());
  const auto of_both = [&](const std::vector<database::Measurement>& rows) {
    return rows.front().job_id != rows.back().job_id && rows.back().match.has_value();
  };
  const Rows rows = rows_by_schedule();
  ASSERT_TRUE(std::ranges::any_of(rows, [&](const auto& each) { return of_both(each.second); }));
  EXPECT_EQ(store_->count_trials(options_.job_id).value(), 24);
  const int runs = runner_.runs;
  const absl::StatusOr<Progress> more = run();
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->trials, 24);
  EXPECT_EQ(runner_.runs, runs) << "the play-off was played again";
}

TEST_F(PlayOffTest, EndsOnlyWhenWhoLooksFastestHasTakenPart) {
  runner_.is_lucky_first = true;
  runner_.unlucky_ns = 40'000;
  options_.budget.trials = 100;
  ASSERT_TRUE(run().ok());
  for (const Task& task : tasks_)
    EXPECT_TRUE(fastest_of(task).match.has_value()) << "it was only lucky, once";
}

// The machine becomes slower all the time: who is out after few rounds was measured in better times.
TEST_F(PlayOffTest, IsWonByTheFastestOfEachRoundWhateverTheMachineDoesBetweenRounds) {
  tasks_.resize(1);
  options_.budget.trials = Playoff::kFinalists;
  runner_.spread_ns = 100;
  runner_.drift_per_run = 0.02;
  ASSERT_TRUE(run().ok());
  const auto true_ns = [&](const database::Measurement& m) { return runner_.time_of(m.artifact_digest, 0); };
  database::Measurement winner, lucky;
  int64_t least_ns = 0;
  for (const auto& [schedule, rows] : rows_by_schedule()) {
    ASSERT_EQ(rows.size(), 2u);
    const database::Measurement& row = rows.back();
    ASSERT_TRUE(row.match.has_value());
    const auto pooled_ns = [](const database::Measurement& m) { return database::median_ns(m.samples); };
    if (lucky.samples.empty() || pooled_ns(row) < pooled_ns(lucky)) lucky = row;
    if (least_ns == 0 || true_ns(row) < least_ns) least_ns = true_ns(row);
  }
  EXPECT_GT(true_ns(lucky), least_ns) << "else this test shows nothing";
  EXPECT_EQ(true_ns(fastest_of(tasks_[0])), least_ns);
}

TEST_F(PlayOffTest, TakesItsPlaceFromOneThatFails) {
  tasks_.resize(1);
  options_.budget.trials = 8;
  runner_.spread_ns = 100;
  options_.play_off = false;
  ASSERT_TRUE(run().ok());
  const database::Measurement before = fastest_of(tasks_[0]);
  runner_.wrong_again = before.artifact_digest;
  options_.budget.trials = 9;
  options_.play_off = true;
  ASSERT_TRUE(run().ok());
  const std::vector<database::Measurement> rows =
      rows_by_schedule()[before.problem.workload.hex() + before.schedule];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.back().outcome, database::Outcome::kCrashed);
  EXPECT_NE(fastest_of(tasks_[0]).schedule, before.schedule);
  EXPECT_EQ(runner_.acknowledged, runner_.runs) << "what is recorded is acknowledged";
}

TEST_F(PlayOffTest, BeginsNoRoundAfterTheDeadline) {
  const std::string target = options_.target.text();
  const auto schedule =
      schedule::to_string(schedule::default_schedule(tasks_[0].workload, {}, options_.target, 1));
  const Contender contender{.request = candidate_request(tasks_[0], target, schedule)};
  const std::vector<Pairing> pairings = {{.task = 0, .contenders = {contender, contender}}};
  Pipeline pipeline(builder_, runner_, {.tasks = {{reference_request(tasks_[0], target)}}});
  using Time = std::chrono::steady_clock::time_point;
  EXPECT_TRUE(play_off(pipeline, pairings, stop_, Time::min()).at(0).empty());
  EXPECT_EQ(runner_.runs, 0);
  const std::vector<Played> ranking = play_off(pipeline, pairings, stop_, Time::max()).at(0);
  ASSERT_EQ(ranking.size(), 2u);
  EXPECT_EQ(ranking[0].results.size(), Playoff::kRounds);
}

}  // namespace
}  // namespace tf::session
