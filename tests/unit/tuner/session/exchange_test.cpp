#include "tuner/session/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/tuner/test_problems.h"
#include "tuner/model/xgboost_model.h"

namespace tf::session {
namespace {

class ExchangeTest : public testing::Test {
 protected:
  void add(int64_t m, int64_t n, int64_t k) {
    own_.push_back(
        std::make_unique<Task>(Task{.label = "product", .workload = test::matmul_bias_relu(m, n, k)}));
    tasks_.push_back(TaskState::create(*own_.back(), options_, &model_, 7 + own_.size()).value());
  }
  // Tries all seeds of a task and its first proposal, which becomes its best.
  static space::Candidate try_some(TaskState& task) {
    const size_t seeds =
        std::accumulate(task.space().space().sketches.begin(), task.space().space().sketches.end(), size_t{0},
                        [](size_t sum, const space::Sketch& sketch) { return sum + sketch.seeds.size(); });
    space::Candidate last;
    for (size_t i = 0; i <= seeds; ++i) {
      last = task.next().value();
      task.observe(last, Time{.seconds = 1e-3 - 1e-6 * static_cast<double>(i)});
    }
    return last;
  }
  // What the task tries next of what waits now.
  static std::vector<space::Candidate> waiting(TaskState& task) {
    std::vector<space::Candidate> all;
    for (int i = 0; i < 16; ++i) all.push_back(task.next().value());
    return all;
  }

  SessionOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value()};
  model::XGBoostModel model_{{}};
  std::vector<std::unique_ptr<Task>> own_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
};

TEST_F(ExchangeTest, SuggestsATasksBestToTheOnesLikeIt) {
  add(128, 128, 128);
  add(256, 128, 128);
  const space::Candidate best = try_some(*tasks_[0]);
  try_some(*tasks_[1]);
  const Donor donor{tasks_[0]->space().space().sketches[static_cast<size_t>(best.sketch)], best.point};
  const std::vector<space::Candidate> expected = carried_over({&donor, 1}, tasks_[1]->space(), 1);
  ASSERT_EQ(expected.size(), 1u);
  exchange_best(tasks_);
  const std::vector<space::Candidate> tried = waiting(*tasks_[1]);
  EXPECT_TRUE(std::find(tried.begin(), tried.end(), expected[0]) != tried.end());
}

TEST_F(ExchangeTest, SaysWhatIsBestOnce) {
  add(128, 128, 128);
  const space::Candidate best = try_some(*tasks_[0]);
  const std::optional<Donor> donor = tasks_[0]->take_new_best();
  ASSERT_TRUE(donor.has_value());
  EXPECT_EQ(donor->point, best.point);
  EXPECT_FALSE(tasks_[0]->take_new_best().has_value());
}

TEST_F(ExchangeTest, SaysNothingOfFailuresAndBounds) {
  add(128, 128, 128);
  tasks_[0]->observe(*tasks_[0]->next(), std::nullopt);
  tasks_[0]->observe(*tasks_[0]->next(), Time{.seconds = 1e-3, .lower_bound = true});
  EXPECT_FALSE(tasks_[0]->take_new_best().has_value());
}

}  // namespace
}  // namespace tf::session
