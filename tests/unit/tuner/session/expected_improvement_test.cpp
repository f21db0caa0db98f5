#include "tuner/session/allocate/expected_improvement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/tuner/test_problems.h"

namespace tf::session {
namespace {

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
    own_.push_back(std::make_unique<Task>(Task{
        .label = "product", .kernel = {.workload = test::matmul_bias_relu(32, 32, 32)}, .weight = weight}));
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

  std::vector<ExpectedImprovement> improvements() const {
    std::vector<OpenTask> open;
    for (const auto& task : tasks_) open.push_back({.state = task.get()});
    return improvements_of(open);
  }

  SessionOptions options_{.target = target::parse_target("x86_64:cpu=znver4").value()};
  std::vector<std::unique_ptr<Task>> own_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
};

TEST_F(ExpectedImprovements, CountOneRunOfKernelsOfOtherLayouts) {
  add(3, 1e-3);
  add(0, 1e-3);
  EXPECT_THAT(runs_of(improvements()), ElementsAre(3, 1));
}

using Contested = ExpectedImprovements;

TEST_F(Contested, AreTasksWhoseTimeAndDoubtAreSomethingToTheNetwork) {
  add(2, 1e-3);
  add(1, 1e-6);
  add(1, 1e-4);
  add(0, 1e-3);  // between other layouts
  add(0, 1e-6);  // and nothing to the network
  add(1, 0);     // nothing known
  const std::vector<int64_t> tried = {9, 8, 0, 7, 5, 6};
  EXPECT_THAT(contested(tasks_, improvements(), tried), ElementsAre(9, 0, 0, 7, 0, 0));
}

}  // namespace
}  // namespace tf::session
