#include "tuner/session/history/transfer_learning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/tuner/test_problems.h"
#include "tuner/model/learned/xgboost_model.h"

namespace tf::session {
namespace {

// Knows one candidate, by its features, from all others.
class Taste final : public model::CostModel {
 public:
  explicit Taste(float of_favourite) : of_favourite_(of_favourite) {}
  absl::Status train(std::span<const model::Example>) override { return absl::OkStatus(); }
  bool is_trained() const override { return true; }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    std::vector<float> scores;
    for (const model::Features& row : rows) scores.push_back(row == favourite ? of_favourite_ : 0);
    return scores;
  }

  model::Features favourite{};

 private:
  float of_favourite_;
};

class TransferLearningTest : public testing::Test {
 protected:
  void add(int64_t m, int64_t n, int64_t k, model::CostModel* model, uint64_t seed) {
    own_.push_back(std::make_unique<Task>(
        Task{.label = "product", .kernel = {.workload = test::matmul_bias_relu(m, n, k)}}));
    tasks_.push_back(TaskState::create(*own_.back(), options_, model, seed).value());
  }
  void add(int64_t m, int64_t n, int64_t k) { add(m, n, k, &model_, 8 + own_.size()); }
  // Tries all seeds of a task and its first proposal, which becomes its best.
  static space::Candidate try_some(TaskState& task) {
    const size_t seeds = task.space().space().sketches.size();
    space::Candidate last;
    for (size_t i = 0; i <= seeds; ++i) {
      last = task.next().value();
      task.observe(last, Time{.seconds = 1e-3 - 1e-6 * static_cast<double>(i)});
    }
    return last;
  }
  // What the task tries next of what waits now.
  static std::vector<space::Candidate> waiting(TaskState& task, int count = 16) {
    std::vector<space::Candidate> all;
    for (int i = 0; i < count; ++i) all.push_back(task.next().value());
    return all;
  }

  SessionOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value()};
  model::XGBoostModel model_{{}};
  std::vector<std::unique_ptr<Task>> own_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
};

TEST_F(TransferLearningTest, SuggestsATasksBestToTheOnesLikeIt) {
  add(128, 128, 128);
  add(256, 128, 128);
  const space::Candidate best = try_some(*tasks_[0]);
  try_some(*tasks_[1]);
  const TransferSource source{tasks_[0]->space().space().sketches[static_cast<size_t>(best.sketch)],
                              best.point};
  const std::vector<space::Candidate> expected = carried_over({&source, 1}, tasks_[1]->space(), 1);
  ASSERT_EQ(expected.size(), 1u);
  share_best(tasks_);
  const std::vector<space::Candidate> tried = waiting(*tasks_[1]);
  EXPECT_TRUE(std::find(tried.begin(), tried.end(), expected[0]) != tried.end());
}

TEST_F(TransferLearningTest, RanksASuggestionAmongTheProposals) {
  for (const float score : {1.0f, -1.0f}) {
    Taste taste(score);
    tasks_.clear();
    add(128, 128, 128, &taste, 8);
    add(128, 128, 128, &taste, 8);
    TaskState &task = *tasks_[0], &other = *tasks_[1];
    try_some(task);
    try_some(other);
    const space::Candidate later = waiting(other, 40).back();  // proposed when what waits now is used up
    taste.favourite = task.space().evaluator().judge(later)->features;
    task.suggest({later});
    const std::vector<space::Candidate> tried = waiting(task, 4);
    EXPECT_EQ(std::ranges::count(tried, later), score > 0 ? 1 : 0);
    EXPECT_EQ(tried[0] == later, score > 0);
  }
}

TEST_F(TransferLearningTest, PassesOverSuggestionsThatWereTriedOrWait) {
  Taste taste(1.0f);
  add(128, 128, 128, &taste, 8);
  add(128, 128, 128, &taste, 8);
  TaskState &task = *tasks_[0], &other = *tasks_[1];
  const space::Candidate tried = try_some(task);
  ASSERT_EQ(try_some(other), tried);
  taste.favourite = task.space().evaluator().judge(tried)->features;
  ASSERT_TRUE(task.take_new_best().has_value());
  const std::vector<space::Candidate> waits = waiting(other, 12);
  task.suggest({tried, waits[2]});
  EXPECT_EQ(waiting(task, 12), waits) << "none has lost its place";
  std::vector<model::Example> of_task, of_other;
  task.append_examples(of_task);
  other.append_examples(of_other);
  EXPECT_EQ(of_task.size(), of_other.size()) << "it taught again";
  EXPECT_FALSE(task.take_new_best().has_value());
}

TEST_F(TransferLearningTest, SaysWhatIsBestOnce) {
  add(128, 128, 128);
  const space::Candidate best = try_some(*tasks_[0]);
  const std::optional<TransferSource> source = tasks_[0]->take_new_best();
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(source->point, best.point);
  EXPECT_FALSE(tasks_[0]->take_new_best().has_value());
}

TEST_F(TransferLearningTest, SaysNothingOfFailuresAndBounds) {
  add(128, 128, 128);
  tasks_[0]->observe(*tasks_[0]->next(), std::nullopt);
  tasks_[0]->observe(*tasks_[0]->next(), Time{.seconds = 1e-3, .lower_bound = true});
  EXPECT_FALSE(tasks_[0]->take_new_best().has_value());
}

}  // namespace
}  // namespace tf::session
