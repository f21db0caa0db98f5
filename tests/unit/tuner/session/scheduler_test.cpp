#include "tuner/session/allocate/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tf::session {
namespace {

// Of two such tasks, what is not said is alike.
ExpectedImprovement tried(int64_t trials, double gained) {
  return {.seconds = 1e-3, .work_seconds = 1e-3, .trials = trials, .gained = gained};
}

TEST(NextTask, GivesEveryTaskItsFirstTrialsBeforeAnyGetsMore) {
  std::vector<ExpectedImprovement> tasks = {{.seconds = 1.0}, {.seconds = 1e-6}};
  for (int i = 0; i < 16; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].trials;
  EXPECT_EQ(tasks[0].trials, 8);
  EXPECT_EQ(tasks[1].trials, 8);
}

TEST(NextTask, GivesFirstTrialsToWhatTakesMostTimeOnceAllHaveOne) {
  std::vector<ExpectedImprovement> tasks = {{.seconds = 1e-6}, {.seconds = 4e-3}, {.seconds = 1e-3}};
  for (int i = 0; i < 3; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].trials;
  for (const ExpectedImprovement& task : tasks) EXPECT_EQ(task.trials, 1);
  for (int i = 0; i < 5; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].trials;
  EXPECT_EQ(tasks[0].trials, 1);
  EXPECT_EQ(tasks[1].trials, 5);
  EXPECT_EQ(tasks[2].trials, 2);
}

TEST(NextTask, ServesWhatGainedMoreOfTheNetworksTimeLately) {
  EXPECT_EQ(next_task(std::vector{tried(64, 0.01), tried(64, 0.2)}), 1);
  std::vector<ExpectedImprovement> tasks = {tried(64, 0.1), tried(64, 0.1)};
  tasks[1].weight = 3;
  EXPECT_EQ(next_task(tasks), 1) << "it runs three times";
  tasks[0].seconds = 5e-3, tasks[0].work_seconds = 5e-3;
  EXPECT_EQ(next_task(tasks), 0) << "it takes five times as long";
  tasks[0].trial_seconds = 10;
  EXPECT_EQ(next_task(tasks), 1) << "a trial of the other costs ten times as much";
}

TEST(NextTask, ExpectsLessOfTheNextTrialTheMoreWereMade) {
  std::vector<ExpectedImprovement> tasks = {tried(32, 0.1), tried(32, 0.1)};
  for (int i = 0; i < 400; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].trials;
  EXPECT_NEAR(static_cast<double>(tasks[0].trials), 232, 1);
}

TEST(NextTask, BelievesTheModelsOnlyAsFarAsTheyKeptTheirWord) {
  std::vector<ExpectedImprovement> tasks = {tried(16, 0.05), tried(16, 0)};
  tasks[1].predicted = 0.2;
  EXPECT_EQ(next_task(tasks), 1);
  tasks[1].predicted_before = 10;
  tasks[1].realized = 0.1;
  EXPECT_EQ(next_task(tasks), 0);
}

TEST(NextTask, HopesForWhatSimilarTasksReached) {
  std::vector<ExpectedImprovement> tasks = {tried(64, 0.5), tried(64, 0.5), tried(64, 0.5)};
  tasks[0].seconds = 1e-3;
  tasks[1].seconds = 4e-3, tasks[1].work_seconds = 1e-3;  // a quarter of the efficiency of the first
  tasks[2].seconds = 4e-3, tasks[2].work_seconds = 1e-3, tasks[2].group = 1;
  tasks[2].reach = 0.1;
  EXPECT_EQ(next_task(tasks), 1);
}

TEST(NextTask, GivesOneTrialInEightToOtherLayoutsWhateverTheyMayGain) {
  std::vector<ExpectedImprovement> tasks = {tried(0, 0.5), tried(0, 1e-3), tried(0, 0.1)};
  tasks[1].weight = tasks[2].weight = 0;
  for (int i = 0; i < 800; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].trials;
  EXPECT_EQ(tasks[0].trials, 700);
  EXPECT_EQ(tasks[1].trials + tasks[2].trials, 100);
  EXPECT_GE(tasks[1].trials, kFirstTrials);
  EXPECT_GT(tasks[2].trials, tasks[1].trials) << "they compete by what they gain";
}

TEST(NextTask, GivesTheOtherLayoutsShareBackOnceTheyAreExhausted) {
  std::vector<ExpectedImprovement> tasks = {tried(64, 0.5), tried(4, 0.5)};
  tasks[1].weight = 0;
  EXPECT_EQ(next_task(tasks), 1);
  tasks[1].exhausted = true;
  EXPECT_EQ(next_task(tasks), 0);
  tasks[0].exhausted = true;
  EXPECT_EQ(next_task(tasks), -1);
}

TEST(NextTask, LeavesOutExhaustedTasksAndEndsWhenAllAre) {
  std::vector<ExpectedImprovement> tasks = {{.seconds = 1, .exhausted = true}, {.seconds = 1}};
  EXPECT_EQ(next_task(tasks), 1);
  tasks[1].exhausted = true;
  EXPECT_EQ(next_task(tasks), -1);
}

TEST(Forecast, ExpectsOfADoublingWhatTheLastOneBrought) {
  ExpectedImprovement task = tried(1'000'000, 0.1);
  Forecast forecast(std::vector{task});
  ASSERT_TRUE(forecast.is_known());
  EXPECT_NEAR(forecast.spend(1'000'000), 1 - std::exp(-0.1), 1e-3);
  EXPECT_NEAR(forecast.spend(2'000'000), std::exp(-0.1) - std::exp(-0.2), 1e-3)
      << "the next takes twice as many";
}

TEST(Forecast, ExpectsNothingBeyondReach) {
  ExpectedImprovement task = tried(10, 0.5);
  task.reach = 0.2;
  EXPECT_NEAR(Forecast(std::vector{task}).spend(1'000'000), 1 - std::exp(-0.2), 1e-9);
  task.exhausted = true;
  EXPECT_EQ(Forecast(std::vector{task}).spend(1'000'000), 0);
}

TEST(Forecast, CountsGainsAsSharesOfTheWholeNetwork) {
  std::vector<ExpectedImprovement> tasks = {tried(100, 0.2), {.seconds = 3e-3, .exhausted = true}};
  const double alone = Forecast(std::span(tasks).first(1)).spend(50);
  EXPECT_NEAR(Forecast(tasks).spend(50), alone / 4, 1e-9);
}

TEST(Forecast, ExpectsNothingOfOtherLayouts) {
  std::vector<ExpectedImprovement> tasks = {tried(100, 0.2), tried(4, 0.5)};
  tasks[1].weight = 0;
  EXPECT_TRUE(Forecast(tasks).is_known());
  EXPECT_EQ(Forecast(tasks).spend(50), Forecast(std::span(tasks).first(1)).spend(50));
}

TEST(Forecast, IsNotKnownBeforeTheFirstTrials) {
  EXPECT_FALSE(Forecast(std::vector{tried(100, 0.2), tried(7, 0)}).is_known());
  EXPECT_EQ(minutes_until(std::vector{tried(7, 0)}, 600, 0.01), std::nullopt);
}

TEST(MinutesUntil, EndsWhenAMinuteGainsTooLittle) {
  const std::vector<ExpectedImprovement> tasks = {tried(100, 0.05)};
  const std::optional<int> minutes = minutes_until(tasks, 600, 0.01);
  ASSERT_TRUE(minutes.has_value());
  EXPECT_GT(*minutes, 1);
  EXPECT_LT(*minutes, 60);
  EXPECT_GT(minutes_until(tasks, 600, 0.001), *minutes);
  EXPECT_EQ(minutes_until(std::vector{tried(1000, 0)}, 600, 0.01), 0);
}

}  // namespace
}  // namespace tf::session
