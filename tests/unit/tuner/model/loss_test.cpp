#include "tuner/model/learned/loss.h"

#include <gtest/gtest.h>

namespace tf::model {
namespace {

std::vector<Example> examples(const std::vector<double>& speeds) {
  std::vector<Example> all;
  for (double speed : speeds) all.push_back({.features = {}, .speed = speed});
  return all;
}

TEST(PairGradient, RaisesTheFasterAndLowersTheSlower) {
  const Gradient gradient = pair_gradient(examples({1, 0.5, 0}), std::vector<float>{0, 0, 0}, 1);
  EXPECT_LT(gradient.first[0], 0);
  EXPECT_GT(gradient.first[2], 0);  // a failure is slower than everything
  for (float second : gradient.second) EXPECT_GT(second, 0);
}

TEST(PairGradient, WantsLittleWhereTheOrderIsRight) {
  const Gradient wrong = pair_gradient(examples({1, 0.5}), std::vector<float>{-3, 3}, 1);
  const Gradient right = pair_gradient(examples({1, 0.5}), std::vector<float>{3, -3}, 1);
  EXPECT_LT(wrong.first[0], 100 * right.first[0]);
}

TEST(PairGradient, WantsNearTiesInOrder) {
  const double far = -pair_gradient(examples({1, 0.5}), std::vector<float>{0, 0}, 1).first[0];
  const double near = -pair_gradient(examples({1, 0.99}), std::vector<float>{0, 0}, 1).first[0];
  EXPECT_GT(near, far / 20);
  EXPECT_LT(near, far / 4);
  EXPECT_EQ(pair_gradient(examples({1, 0.998}), std::vector<float>{0, 0}, 1).first[0], 0) << "the same";
}

TEST(PairGradient, ComparesNothingAcrossTasks) {
  std::vector<Example> two = examples({1, 0.5});
  two[1].task = 1;
  const Gradient gradient = pair_gradient(two, std::vector<float>{0, 0}, 1);
  EXPECT_EQ(gradient.first, (std::vector<float>{0, 0}));
}

TEST(PairGradient, LearnsFromABoundOnlyThatOthersAreFaster) {
  std::vector<Example> two = examples({1, 0.5});
  two[1].upper_bound = true;  // stopped at twice the best time: slower than the best
  EXPECT_LT(pair_gradient(two, std::vector<float>{0, 0}, 1).first[0], 0);
  two[0].upper_bound = true;  // no faster than the best: perhaps slower than the other
  EXPECT_EQ(pair_gradient(two, std::vector<float>{0, 0}, 1).first[0], 0);
}

TEST(OrderAccuracies, CountNearPairsOfEachTask) {
  std::vector<Example> all = examples({1, 0.5, 0.45, 0.1, 1, 0.5, 0});
  for (size_t i = 4; i < all.size(); ++i) all[i].task = 1;
  const std::vector<double> right = order_accuracies(all, std::vector<float>{3, 1, 2, 9, 0, 0, 9});
  ASSERT_EQ(right.size(), 2u);
  EXPECT_DOUBLE_EQ(right[0], 2.0 / 3) << "one of three pairs is wrong; the slow one does not count";
  EXPECT_DOUBLE_EQ(right[1], 0.5) << "ties";
}

TEST(SpeedGradient, VanishesWhereTheSpeedIsMet) {
  const Gradient gradient = speed_gradient(examples({1, 0.5}), std::vector<float>{1, 0.75});
  EXPECT_EQ(gradient.first[0], 0);
  EXPECT_GT(gradient.first[1], 0);
}

}  // namespace
}  // namespace tf::model
