#include "tests/bench/search/replay/comparison.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tf::replay {
namespace {

// Each trial costs a device-second and has the best that is given.
std::vector<Step> run(std::vector<double> best_seconds, double trial_device_seconds = 1) {
  std::vector<Step> steps;
  for (const double best : best_seconds)
    steps.push_back({trial_device_seconds * static_cast<double>(steps.size() + 1), best});
  return steps;
}

TEST(CostToReach, IsOfTheTrialsWithWhichAndWithAnyMoreTheMedianIsNoSlower) {
  const Runs one = {run({0, 8, 4, 4, 2}, 0.5)};
  ASSERT_TRUE(cost_to_reach(one, 4).has_value());
  EXPECT_EQ(cost_to_reach(one, 4)->trials, 3);
  EXPECT_EQ(cost_to_reach(one, 4)->device_seconds, 1.5);
  EXPECT_EQ(cost_to_reach(one, 7.9)->trials, 3);
  EXPECT_FALSE(cost_to_reach(one, 1.9).has_value());
  EXPECT_FALSE(cost_to_reach({run({0, 0})}, 100).has_value()) << "nothing found is no time";
  EXPECT_FALSE(cost_to_reach({}, 100).has_value());
  EXPECT_EQ(cost_to_reach({run({8, 3, 5, 4, 2})}, 4)->trials, 4) << "the second trial's end was luck";
  EXPECT_FALSE(cost_to_reach({run({8, 3, 5})}, 4).has_value());
  const Runs three = {run({8, 3, 5, 3}), run({9, 4, 4, 4}), run({9, 3, 3, 3})};
  EXPECT_EQ(cost_to_reach(three, 4)->trials, 2) << "one of three was slower again: the median was not";
}

TEST(CostToReach, CountsTheFinalsThatTheRunEndsWith) {
  Runs runs(3, run({8, 4, 4}));
  for (std::vector<Step>& each : runs)
    for (Step& step : each) step.finals_trials = step.best_seconds;
  runs[0][1].finals_trials = 100;
  EXPECT_EQ(cost_to_reach(runs, 4)->trials, 2 + 4) << "the median over the seeds";
}

TEST(TypicalStep, IsTheMedianOverSeedsAndKeepsEndedRunsAsTheyEnded) {
  const Runs runs = {run({9, 3}), run({8, 8, 8}), run({0, 5, 4})};
  EXPECT_EQ(typical_step(runs, 1).best_seconds, 9) << "8, 9, nothing";
  EXPECT_EQ(typical_step(runs, 3).best_seconds, 4) << "3 of the run that ended, 4, 8";
  EXPECT_EQ(typical_step(runs, 3).device_seconds, 3);
  EXPECT_TRUE(std::isinf(typical_step({run({0}), run({0}), run({1})}, 1).best_seconds));
  EXPECT_TRUE(std::isinf(typical_step({}, 1).best_seconds));
}

TEST(SameQuality, IsTheSlowerOfTheTwoFinalTimes) {
  // The first ends at 2, the second at 4: the first is asked only for 4, which it has after its second trial.
  const Runs first = {run({8, 4, 2}, 0.1)};
  const Runs second = {run({9, 9, 9, 9, 9, 9, 9, 4}, 0.2)};
  const std::optional<SameQuality> same = at_same_quality(first, second);
  ASSERT_TRUE(same.has_value());
  EXPECT_DOUBLE_EQ(same->seconds, 4 * 1.01);
  EXPECT_EQ(same->first.trials, 2);
  EXPECT_EQ(same->second.trials, 8);
  EXPECT_DOUBLE_EQ(same->ratio.trials, 0.25);
  EXPECT_NEAR(same->ratio.device_seconds, 0.2 / 1.6, 1e-12);
}

TEST(SameQuality, AsksTheBaselineOnlyForWhatALosingFirstReaches) {
  const std::optional<SameQuality> same = at_same_quality({run({8, 8, 4, 4})}, {run({4, 2, 2, 2})});
  ASSERT_TRUE(same.has_value());
  EXPECT_DOUBLE_EQ(same->ratio.trials, 3);
}

TEST(SameQuality, TakesMediansOverSeedsSoThatOneUnluckySeedDecidesNothing) {
  const Runs first = {run({1, 1}), run({3, 1}), run({50, 50})};
  const Runs second = {run({9, 9, 1}), run({9, 1, 1}), run({9, 9, 1})};
  const std::optional<SameQuality> same = at_same_quality(first, second);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->first.trials, 2) << "1, 2, never";
  EXPECT_EQ(same->second.trials, 3);
}

TEST(SameQuality, IsFiniteForBothAlsoWithAnEvenNumberOfSeeds) {
  const std::optional<SameQuality> same =
      at_same_quality({run({3}), run({5}), run({7}), run({9})}, {run({1}), run({2}), run({4}), run({6})});
  ASSERT_TRUE(same.has_value());
  EXPECT_TRUE(std::isfinite(same->first.trials));
  EXPECT_TRUE(std::isfinite(same->second.trials));
}

TEST(SameQuality, IsNotDefinedWhenOneFoundNothing) {
  EXPECT_FALSE(at_same_quality({run({0, 0})}, {run({1})}).has_value());
  EXPECT_FALSE(at_same_quality({run({1})}, {}).has_value());
}

TEST(GeometricMean, OfAHalfAndTwoIsOne) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{0.5, 2}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{}), 1);
}

}  // namespace
}  // namespace tf::replay
