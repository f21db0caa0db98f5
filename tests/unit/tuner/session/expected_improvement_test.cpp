#include "tuner/session/expected_improvement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/support/tuner/test_problems.h"

namespace tf::session {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(ThatMatter, LeavesOutTheLeastThatAreNothingEvenTogether) {
  const std::vector<double> stakes = {0.5, 0.0011, 0.0008, 0.05, 0.0004};
  EXPECT_THAT(that_matter(stakes, 1), ElementsAre(true, true, false, true, false));
  EXPECT_THAT(that_matter(stakes, 0.1), ElementsAre(true, true, true, true, true));
  EXPECT_THAT(that_matter(stakes, 1000), ElementsAre(false, false, false, false, false));
}

class ExpectedImprovements : public testing::Test {
 protected:
  void add(double weight) {
    own_.push_back(std::make_unique<Task>(
        Task{.label = "product", .workload = test::matmul_bias_relu(32, 32, 32), .weight = weight}));
    tasks_.push_back(TaskState::create(*own_.back(), options_, nullptr, 1).value());
  }
  // The next result of a task.
  void observe(size_t task, double seconds) {
    tasks_[task]->observe(*tasks_[task]->next(), Time{.seconds = seconds, .noise = 0.02});
  }
  void add(double weight, double seconds) {
    add(weight);
    if (seconds > 0) observe(tasks_.size() - 1, seconds);
  }

  std::vector<ExpectedImprovement> improvements(const std::vector<LayoutFlip>& flips) const {
    std::vector<OpenTask> open;
    for (const auto& task : tasks_) open.push_back({.state = task.get()});
    return improvements_of(open, flips);
  }
  std::vector<double> expected_weights(const std::vector<LayoutFlip>& flips) const {
    std::vector<double> weights;
    for (const ExpectedImprovement& improvement : improvements(flips))
      weights.push_back(improvement.expected_weight);
    return weights;
  }
  // Of so many trials in all, how many each task gets if it takes so long after so many results.
  std::vector<int64_t> trials_of(int trials, const std::vector<LayoutFlip>& flips,
                                 const std::function<double(size_t task, double results)>& seconds) {
    for (int i = 0; i < trials; ++i) {
      const auto task = static_cast<size_t>(next_task(improvements(flips)));
      observe(task, seconds(task, static_cast<double>(tasks_[task]->results() + 1)));
    }
    std::vector<int64_t> each;
    for (const auto& task : tasks_) each.push_back(task->results());
    return each;
  }

  SessionOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value()};
  std::vector<std::unique_ptr<Task>> own_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
};

const std::vector<LayoutFlip> kSecondForFirst = {{{0, -1}, {1, 1}}};

TEST_F(ExpectedImprovements, ExpectHalfOfAFlipThatCostsNothing) {
  add(3, 1e-3);
  add(0, 1e-3);
  EXPECT_THAT(expected_weights(kSecondForFirst), ElementsAre(2.5, 0.5));
  EXPECT_THAT(expected_weights({}), ElementsAre(3, 0));
  const std::vector<ExpectedImprovement> known = improvements(kSecondForFirst);
  EXPECT_EQ(known[0].weight, 3) << "the network is as it is";
  EXPECT_EQ(known[1].weight, 0);
}

TEST_F(ExpectedImprovements, MoveTheWeightToWhatTurnsOutBetter) {
  add(1, 1e-3);
  add(0, 0.6e-3);
  add(1, 1e-3);
  add(0, 1.4e-3);
  const std::vector<LayoutFlip> flips = {{{0, -1}, {1, 1}}, {{2, -1}, {3, 1}}};
  EXPECT_THAT(expected_weights(flips), ElementsAre(DoubleNear(0.02, 0.01), DoubleNear(0.98, 0.01),
                                                   DoubleNear(0.98, 0.01), DoubleNear(0.02, 0.01)));
}

TEST_F(ExpectedImprovements, CountWhatAFlipCopies) {
  add(1, 1e-3);
  add(0, 0.9e-3);
  add(0, 0.1e-3);
  EXPECT_THAT(expected_weights({{{0, -1}, {1, 1}, {2, 1}}}),
              ElementsAre(DoubleNear(0.5, 1e-9), DoubleNear(0.5, 1e-9), DoubleNear(0.5, 1e-9)));
}

TEST_F(ExpectedImprovements, ExpectNothingOfKernelsThatHaveNoTime) {
  add(1, 1);  // longer than any estimate
  add(0);
  tasks_[1]->observe(*tasks_[1]->next(), std::nullopt);
  EXPECT_THAT(expected_weights(kSecondForFirst), ElementsAre(1, 0));
  observe(1, 1);
  EXPECT_THAT(expected_weights(kSecondForFirst), ElementsAre(0.5, 0.5));
}

TEST_F(ExpectedImprovements, CompareLayoutsAfterAsManyResults) {
  add(1, 1e-3);
  add(0, 1e-3);
  for (int i = 0; i < 8; ++i) observe(0, 0.5e-3);
  EXPECT_THAT(expected_weights(kSecondForFirst), ElementsAre(0.5, 0.5));
  observe(1, 0.5e-3);
  EXPECT_THAT(expected_weights(kSecondForFirst), ElementsAre(0.5, 0.5));
}

TEST_F(ExpectedImprovements, WaitForNoResultsOfKernelsThatTakeLittle) {
  add(1, 1e-3);
  add(0, 0.999e-3);
  add(0, 1e-6);  // a copy
  for (int i = 0; i < 8; ++i) {
    observe(0, 0.5e-3);
    observe(1, 0.9e-3);
  }
  EXPECT_THAT(expected_weights({{{0, -1}, {1, 1}, {2, 1}}}),
              ElementsAre(DoubleNear(1, 1e-3), DoubleNear(0, 1e-3), DoubleNear(0, 1e-3)));
}

TEST_F(ExpectedImprovements, TakeAsItIsWhatHasBeenTriedThroughout) {
  add(1, 1e-3);
  add(0, 1e-3);
  for (int i = 0; i < 8; ++i) observe(0, 0.5e-3);
  const OpenTask first{.state = tasks_[0].get()}, second{.state = tasks_[1].get(), .exhausted = true};
  const std::vector<OpenTask> open = {first, second};
  EXPECT_NEAR(improvements_of(open, kSecondForFirst)[1].expected_weight, 0, 1e-3);
}

TEST_F(ExpectedImprovements, ExpectOneAtMostOfTheFlipsOfTheSameRuns) {
  add(1, 1e-3);
  add(0, 1e-3);
  add(0, 1e-3);
  const std::vector<LayoutFlip> flips = {{{0, -1}, {1, 1}}, {{0, -1}, {2, 1}}};
  const double third = 1.0 / 3;
  EXPECT_THAT(expected_weights(flips),
              ElementsAre(DoubleNear(third, 1e-9), DoubleNear(third, 1e-9), DoubleNear(third, 1e-9)));
  own_[0]->weight = 2;  // of which each flip may have one
  EXPECT_THAT(expected_weights(flips), ElementsAre(1, 0.5, 0.5));
}

TEST_F(ExpectedImprovements, GiveTrialsToLayoutsThatAreClose) {
  add(1);
  add(0);
  add(0);
  const std::vector<LayoutFlip> flips = {{{0, -1}, {1, 1}}, {{0, -1}, {2, 1}}};
  const auto trials = trials_of(300, flips, [](size_t task, double results) {
    return (task == 2 ? 2e-3 : task == 1 ? 1.02e-3 : 1e-3) * std::pow(results, -0.1);
  });
  EXPECT_GT(trials[0], 120);
  EXPECT_GT(trials[1], 90);
  EXPECT_EQ(trials[2], kFirstTrials) << "it takes twice as long";
}

TEST_F(ExpectedImprovements, LeaveALayoutThatFallsBehind) {
  add(1);
  add(0);
  const auto trials = trials_of(300, kSecondForFirst, [](size_t task, double results) {
    return 1e-3 * std::pow(results, -0.1) * (task == 1 && results > 12 ? 1.5 : 1);
  });
  EXPECT_LT(trials[1], 60);
}

using Contested = ExpectedImprovements;

TEST_F(Contested, AreTasksWhoseTimeAndDoubtAreSomethingToTheNetwork) {
  add(2, 1e-3);
  add(1, 1e-6);
  add(1, 1e-4);
  add(0, 1e-3);  // between other layouts
  add(0, 3e-3);  // and much slower
  add(1, 0);     // nothing known
  const std::vector<int64_t> tried = {9, 8, 0, 7, 5, 6};
  EXPECT_THAT(contested(tasks_, improvements({{{0, -1}, {3, 1}}, {{0, -1}, {4, 1}}}), tried),
              ElementsAre(9, 0, 0, 7, 0, 0));
}

}  // namespace
}  // namespace tf::session
