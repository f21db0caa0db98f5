#include "tuner/session/task_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "compiler/schedule/schedule.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/session/history.h"

namespace tf::session {
namespace {

using testing::ElementsAre;

class Recalling : public testing::Test {
 protected:
  Recalling() {
    state_ = TaskState::create(task_, options_, nullptr, 1).value();
    other_ = TaskState::create(task_, options_, nullptr, 1).value();
  }

  Recalled recalled(const space::Candidate& candidate, double seconds) const {
    return {sha256(schedule::to_string(state_->space().space().schedule_of(candidate))), candidate, "",
            Time{.seconds = seconds, .sampled_seconds = 0.01}};
  }
  size_t lessons() const {
    std::vector<model::Example> examples;
    state_->append_examples(examples);
    return examples.size();
  }

  const Task task_{.label = "product", .workload = test::matmul_bias_relu(64, 64, 64)};
  SessionOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value()};
  std::unique_ptr<TaskState> state_, other_;
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

TEST_F(Recalling, RanksWhatWaitsWithoutWhatTheModelFindsHopeless) {
  Scripted model;
  state_ = TaskState::create(task_, options_, &model, 1).value();
  const space::Candidate best = state_->next().value();
  std::vector<space::Candidate> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(state_->next().value());
  EXPECT_THAT(state_->rank(waiting), ElementsAre(0, 1, 2, 3)) << "nothing is learned yet";
  state_->observe(best, Time{.seconds = 1e-3});
  // The last one is the best that is known. The second may be better, if only just; the third is not.
  model.scores = {-0.5, -1, -1, 0.25, 0};
  model.unsure = {0.2, 0.34, 0.3, 0.2, 0.1};
  EXPECT_THAT(state_->rank(waiting), ElementsAre(3, 0, 1));
  model.unsure = {0, 0, 0, 0, 0};
  EXPECT_THAT(state_->rank(waiting), ElementsAre(3, 0, 1, 2)) << "of one that does not say how unsure it is";
}

TEST_F(Recalling, HandsOutAgainWhatItHasTakenBack) {
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

TEST_F(Recalling, HandsOutNothingThatAnEarlierJobMeasured) {
  std::vector<space::Candidate> first;
  std::vector<Recalled> records;
  for (int i = 0; i < 5; ++i) {
    first.push_back(other_->next().value());
    records.push_back(recalled(first.back(), 1e-3));
  }
  records.front().untuned = true;
  EXPECT_EQ(state_->recall(records), 5);
  EXPECT_EQ(state_->results(), 5);
  for (int i = 0; i < 20; ++i) {
    const std::optional<space::Candidate> next = state_->next();
    ASSERT_TRUE(next.has_value());
    EXPECT_TRUE(std::ranges::find(first, *next) == first.end()) << i;
  }
}

TEST_F(Recalling, IsToldWhatOthersMeasuredWhenItProposesItAndThatIsDue) {
  other_->next();  // the untuned one
  const space::Candidate first = other_->next().value(), second = other_->next().value();
  Recalled early = recalled(first, 1e-3), late = recalled(second, 2e-3);
  early.number = 10, late.number = 20;
  for (const Recalled& each : {early, late}) state_->recall_when_proposed(each);
  EXPECT_EQ(state_->results(), 0) << "it has not come by them";
  state_->next(15);
  const std::optional<space::Candidate> next = state_->next(15);
  EXPECT_EQ(next, second) << "of the first it is told, of the other not yet";
  EXPECT_EQ(state_->best_seconds(), 1e-3);
  EXPECT_EQ(state_->results(), 1);
}

TEST_F(Recalling, KeepsWhatIsSaidFirstOfACode) {
  other_->next();  // the untuned one
  const space::Candidate measured = other_->next().value(), duplicate = other_->next().value();
  Recalled one = recalled(measured, 1e-3), same = recalled(duplicate, 3e-3);
  one.code_digest = same.code_digest = "the same";
  for (const Recalled& each : {one, same}) state_->recall_when_proposed(each);
  ASSERT_NE(state_->result_of_code("the same"), nullptr);
  EXPECT_EQ(state_->result_of_code("the same")->time->seconds, 1e-3);
  state_->next();
  EXPECT_EQ(state_->next(), duplicate) << "it is handed out, and found to be a duplicate once it is built";
}

TEST_F(Recalling, KnowsTheBestAndTheUntunedTime) {
  const space::Candidate untuned = other_->next().value(), fast = other_->next().value();
  state_->recall({recalled(untuned, 3e-3), recalled(fast, 1e-3)});
  EXPECT_EQ(state_->best_seconds(), 1e-3);
  EXPECT_EQ(state_->untuned_seconds(), 3e-3);
}

TEST_F(Recalling, TakesALaterMeasurementInsteadOfWhatItRecalls) {
  const space::Candidate untuned = other_->next().value(), lucky = other_->next().value();
  state_->recall({recalled(untuned, 3e-3), recalled(lucky, 1e-3)});
  state_->observe(lucky, Time{.seconds = 2e-3});
  EXPECT_EQ(state_->best_seconds(), 2e-3) << "it was lucky once";
  state_->observe(untuned, Time{.seconds = 2.5e-3});
  EXPECT_EQ(state_->untuned_seconds(), 2.5e-3);
  EXPECT_EQ(state_->results(), 2) << "measured again, it is no other result";
  EXPECT_EQ(lessons(), 2u) << "nor another lesson";
}

TEST_F(Recalling, GoesByAnotherBestOnceItsOwnWasLucky) {
  const space::Candidate steady = other_->next().value(), lucky = other_->next().value();
  ASSERT_NE(steady.point, lucky.point);
  state_->recall({recalled(steady, 2e-3), recalled(lucky, 1e-3)});
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

TEST_F(Recalling, LearnsFromTheFastestAndSomeOthersWhereThereAreTooMany) {
  std::vector<Recalled> records;
  for (int i = 0; i < 40; ++i) records.push_back(recalled(other_->next().value(), 1e-3 * (40 - i)));
  state_->recall(records);
  EXPECT_EQ(lessons(), 40u);
  std::vector<model::Example> few;
  state_->append_examples(few, 10);
  ASSERT_EQ(few.size(), 10u);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(few[static_cast<size_t>(i)].speed, 1.0 / (i + 1), 1e-6);
  EXPECT_LT(few.back().speed, 0.05);
}

}  // namespace
}  // namespace tf::session
