#include "tuner/session/loop/task_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "compiler/schedule/schedule.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/session/history/history.h"

namespace tf::session {
namespace {

using testing::ElementsAre;

class TaskStateTest : public testing::Test {
 protected:
  TaskStateTest() {
    state_ = TaskState::create(task_, options_, nullptr, 1).value();
    other_ = TaskState::create(task_, options_, nullptr, 1).value();
  }

  // The next row of the store.
  database::Measurement record(const space::Candidate& candidate, double seconds, int64_t job_id = 1) {
    database::Measurement row;
    row.id = ++rows_;
    row.problem = state_->problem();
    row.schedule = schedule::to_string(state_->space().space().schedule_of(candidate));
    row.semantics_version = schedule::kSemanticsVersion;
    row.sketch_hash = state_->space().hash_of(candidate);
    row.choices.assign(candidate.point.begin(), candidate.point.end());
    row.job_id = job_id;
    row.outcome = database::Outcome::kOk;
    row.samples = {{std::llround(seconds * 1e9), 1}};
    return row;
  }
  size_t lessons() const {
    std::vector<model::Example> examples;
    state_->append_examples(examples);
    return examples.size();
  }

  const Task task_{.label = "product", .kernel = {.workload = test::matmul_bias_relu(64, 64, 64)}};
  SessionOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value()};
  std::unique_ptr<TaskState> state_, other_;
  int64_t rows_ = 0;
};

// Says what the test wants, of as many rows as it is asked.
class Scripted final : public model::CostModel {
 public:
  absl::Status train(std::span<const model::Example>) override { return absl::OkStatus(); }
  bool is_trained() const override { return !scores.empty(); }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    EXPECT_EQ(rows.size(), scores.size());
    return scores;
  }
  std::vector<float> spread(std::span<const model::Features>) const override { return unsure; }
  std::vector<float> scores, unsure;
};

TEST_F(TaskStateTest, RanksWhatWaitsWithoutWhatTheModelFindsHopeless) {
  Scripted model;
  state_ = TaskState::create(task_, options_, &model, 1).value();
  const space::Candidate best = state_->next().value();
  std::vector<space::Candidate> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(state_->next().value());
  EXPECT_THAT(state_->rank(waiting, {}), ElementsAre(0, 1, 2, 3)) << "nothing is learned yet";
  state_->observe(best, Time{.seconds = 1e-3});
  // The last one is the best that is known. The second may be better, if only just; the third is not.
  model.scores = {-0.5, -1, -1, 0.25, 0};
  model.unsure = {0.2, 0.34, 0.3, 0.2, 0.1};
  EXPECT_THAT(state_->rank(waiting, {}), ElementsAre(3, 0, 1));
  model.unsure = {0, 0, 0, 0, 0};
  EXPECT_THAT(state_->rank(waiting, {}), ElementsAre(3, 0, 1, 2))
      << "of one that does not say how unsure it is";
}

TEST_F(TaskStateTest, HandsOutAgainWhatItHasTakenBack) {
  Scripted model;
  state_ = TaskState::create(task_, options_, &model, 1).value();
  std::vector<space::Candidate> first;
  for (int i = 0; i < 40; ++i) first.push_back(state_->next().value());
  const auto comes_again = [&] {
    for (int i = 0; i < 40; ++i) {
      state_->suggest({first.back()});
      if (state_->next() == first.back()) return true;
    }
    return false;
  };
  EXPECT_FALSE(comes_again()) << "it is on its way";
  state_->take_back(first.back());
  EXPECT_TRUE(comes_again());
}

TEST_F(TaskStateTest, HandsOutNothingThatAnEarlierJobMeasured) {
  std::vector<space::Candidate> first;
  std::vector<database::Measurement> records;
  for (int i = 0; i < 5; ++i) {
    first.push_back(other_->next().value());
    records.push_back(record(first.back(), 1e-3));
  }
  records.front().untuned = true;
  EXPECT_EQ(state_->add_records(records), 5);
  EXPECT_EQ(state_->results(), 5);
  for (int i = 0; i < 20; ++i) {
    const std::optional<space::Candidate> next = state_->next();
    ASSERT_TRUE(next.has_value());
    EXPECT_TRUE(std::ranges::find(first, *next) == first.end()) << i;
  }
}

TEST_F(TaskStateTest, KeepsWhatIsSaidFirstOfACode) {
  const space::Candidate measured = other_->next().value(), duplicate = other_->next().value();
  database::Measurement one = record(measured, 1e-3), same = record(duplicate, 3e-3);
  one.code_digest = same.code_digest = "the same";
  state_->add_records({one, same});
  ASSERT_NE(state_->result_of_code("the same"), nullptr);
  EXPECT_EQ(state_->result_of_code("the same")->time->seconds, 1e-3);
}

TEST_F(TaskStateTest, TakesOfEachScheduleTheRecordThatCounts) {
  const space::Candidate champion = other_->next().value(), slow = other_->next().value();
  state_->add_records({record(champion, 1e-3), record(slow, 3e-3), record(champion, 2e-3)});
  EXPECT_EQ(state_->best_seconds(), 2e-3);
  EXPECT_EQ(state_->results(), 2);
}

TEST_F(TaskStateTest, HandsOutTheUntunedScheduleUnlessItWasCalledSoLastAndHasATime) {
  const space::Candidate untuned = other_->next().value(), old = other_->next().value();
  database::Measurement named = record(untuned, 1e-3), before = record(old, 2e-3), failed = record(old, 0);
  named.untuned = before.untuned = failed.untuned = true;
  failed.outcome = database::Outcome::kCrashed;
  state_->add_records({named, before});
  EXPECT_EQ(state_->next(), untuned) << "another was called so since";
  state_ = TaskState::create(task_, options_, nullptr, 1).value();
  before.id = 1, named.id = 2;
  state_->add_records({before, named, failed});
  EXPECT_NE(state_->next(), untuned);
}

TEST_F(TaskStateTest, KnowsTheBestAndTheUntunedTime) {
  const space::Candidate untuned = other_->next().value(), fast = other_->next().value();
  state_->add_records({record(untuned, 3e-3), record(fast, 1e-3)});
  EXPECT_EQ(state_->best_seconds(), 1e-3);
  EXPECT_EQ(state_->untuned_seconds(), 3e-3);
}

TEST_F(TaskStateTest, TakesALaterMeasurementInsteadOfWhatItRecalls) {
  const space::Candidate untuned = other_->next().value(), lucky = other_->next().value();
  state_->add_records({record(untuned, 3e-3), record(lucky, 1e-3)});
  state_->observe(lucky, Time{.seconds = 2e-3});
  EXPECT_EQ(state_->best_seconds(), 2e-3) << "it was lucky once";
  state_->observe(untuned, Time{.seconds = 2.5e-3});
  EXPECT_EQ(state_->untuned_seconds(), 2.5e-3);
  EXPECT_EQ(state_->results(), 2) << "measured again, it is no other result";
  EXPECT_EQ(lessons(), 2u) << "nor another lesson";
}

TEST_F(TaskStateTest, GoesByAnotherBestOnceItsOwnWasLucky) {
  const space::Candidate steady = other_->next().value(), lucky = other_->next().value();
  ASSERT_NE(steady.point, lucky.point);
  state_->add_records({record(steady, 2e-3), record(lucky, 1e-3)});
  ASSERT_TRUE(state_->take_new_best().has_value());
  state_->observe(lucky, Time{.seconds = 3e-3});
  const std::optional<TransferSource> best = state_->take_new_best();
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->point, steady.point);
  EXPECT_NEAR(state_->incumbent().ns, 2e6, 1);
  state_->observe(steady, std::nullopt);
  state_->observe(lucky, std::nullopt);
  EXPECT_EQ(state_->best_seconds(), 0) << "both failed";
  EXPECT_EQ(state_->incumbent().ns, 0) << "nothing races against what failed";
  EXPECT_FALSE(state_->take_new_best().has_value());
}

TEST_F(TaskStateTest, LearnsFromTheFastestAndSomeOthersWhereThereAreTooMany) {
  std::vector<database::Measurement> records;
  for (int i = 0; i < 40; ++i) records.push_back(record(other_->next().value(), 1e-3 * (40 - i)));
  state_->add_records(records);
  EXPECT_EQ(lessons(), 40u);
  std::vector<model::Example> few;
  state_->append_examples(few, 10);
  ASSERT_EQ(few.size(), 10u);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(few[static_cast<size_t>(i)].speed, 1.0 / (i + 1), 1e-6);
  EXPECT_LT(few.back().speed, 0.05);
}

TEST_F(TaskStateTest, TeachesWhatTheCompilerToldOfTheCode) {
  tunefarm::kernel::v1::BuildReply built;
  EXPECT_FALSE(code_of(built)) << "of CPUs it tells nothing";
  auto& manifest = *built.mutable_artifact()->mutable_manifest();
  manifest.add_launches()->mutable_resources()->set_registers_per_thread(40);
  manifest.add_launches()->mutable_resources()->set_spill_bytes(7);
  const space::Candidate first = state_->next().value(), second = state_->next().value();
  state_->observe(first, Time{.seconds = 1e-3}, code_of(built));
  state_->observe(second, Time{.seconds = 2e-3});
  state_->observe(second, Time{.seconds = 3e-3}, code_of(built));
  std::vector<model::Example> examples;
  state_->append_examples(examples);
  ASSERT_EQ(examples.size(), 2u);
  for (const model::Example& example : examples) {
    EXPECT_EQ(example.features[model::kFeatureCount], 40);
    EXPECT_EQ(example.features[model::kFeatureCount + 1], 3);
  }
}

TEST_F(TaskStateTest, RanksWhatIsBuiltByItsCode) {
  // Fewer registers are better, as long as anything is known.
  class ByRegisters final : public model::CostModel {
   public:
    absl::Status train(std::span<const model::Example>) override { return absl::OkStatus(); }
    bool is_trained() const override { return true; }
    std::vector<float> score(std::span<const model::Features> rows) const override {
      std::vector<float> scores;
      for (const model::Features& row : rows)
        scores.push_back(model::has_code(row) ? -row[model::kFeatureCount] : -100.0f);
      return scores;
    }
  } model;
  state_ = TaskState::create(task_, options_, &model, 1).value();
  const space::Candidate best = state_->next().value();
  state_->observe(best, Time{.seconds = 1e-3});
  const std::vector<space::Candidate> waiting = {state_->next().value(), state_->next().value(),
                                                 state_->next().value()};
  const std::vector<std::optional<model::CodeFacts>> codes = {model::CodeFacts{.registers_per_thread = 200},
                                                              std::nullopt,
                                                              model::CodeFacts{.registers_per_thread = 32}};
  EXPECT_THAT(state_->rank(waiting, codes), ElementsAre(2, 1, 0));
}

}  // namespace
}  // namespace tf::session
