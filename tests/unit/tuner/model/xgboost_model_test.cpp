// What a model that is asked of other tasks takes from those it knows.

#include "tuner/model/learned/xgboost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tuner/model/learned/loss.h"

namespace tf::model {
namespace {

size_t feature(bool relative) {
  const auto& flags = relative_features();
  return static_cast<size_t>(std::find(flags.begin(), flags.end(), relative) - flags.begin());
}

// Tasks, a group each, of 100 candidates with random features: `speed_of` them.
template <typename SpeedOf>
std::vector<Example> tasks(int count, uint64_t seed, const SpeedOf& speed_of) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<Example> all;
  for (int task = 0; task < count; ++task) {
    for (int i = 0; i < 100; ++i) {
      Example& example = all.emplace_back(Example{.features = {}, .task = task, .group = task});
      for (float& value : example.features) value = uniform(random);
      example.speed = speed_of(example.features);
    }
  }
  return all;
}

std::vector<Features> rows_of(const std::vector<Example>& examples) {
  std::vector<Features> rows;
  for (const Example& example : examples) rows.push_back(example.features);
  return rows;
}

// The scores of a task that it does not know, after it learned from four.
template <typename SpeedOf>
std::pair<std::vector<Example>, std::vector<float>> scores_of_another(const SpeedOf& speed_of) {
  XGBoostModel model({.for_others = true});
  EXPECT_TRUE(model.train(tasks(4, 1, speed_of)).ok());
  EXPECT_TRUE(model.is_trained());
  std::vector<Example> other = tasks(1, 2, speed_of);
  std::vector<float> scores = model.score(rows_of(other));
  return {std::move(other), std::move(scores)};
}

TEST(ModelForOthers, LearnsWhatHoldsInAllGroups) {
  const size_t shape = feature(/*relative=*/true);
  const auto [other, scores] = scores_of_another([&](const Features& f) { return 0.5 + 0.5 * f[shape]; });
  EXPECT_GT(order_accuracies(other, scores)[0], 0.8);
}

TEST(ModelForOthers, SaysWhatTheRooflineModelSaysWhereTreesDoNotHelp) {
  const auto [other, scores] =
      scores_of_another([](const Features& f) { return 0.5 + 0.5 * (1 - f[kRooflineFeature]); });
  for (size_t i = 0; i < other.size(); ++i) EXPECT_EQ(scores[i], -other[i].features[kRooflineFeature]);
}

TEST(ModelForOthers, LearnsNothingFromSizes) {
  const size_t size = feature(/*relative=*/false);
  const auto [other, scores] = scores_of_another([&](const Features& f) { return 0.5 + 0.5 * f[size]; });
  EXPECT_LT(order_accuracies(other, scores)[0], 0.7);
}

TEST(ModelForOthers, LearnsFromOneGroupAsFromItsOwnTask) {
  const size_t size = feature(/*relative=*/false);
  const std::vector<Example> one = tasks(1, 1, [&](const Features& f) { return 0.5 + 0.5 * f[size]; });
  XGBoostModel model({.for_others = true}), usual;
  ASSERT_TRUE(model.train(one).ok());
  ASSERT_TRUE(usual.train(one).ok());
  EXPECT_EQ(model.score(rows_of(one)), usual.score(rows_of(one)));
}

// Spills halve the speed, and nothing that is known before the build tells of them.
TEST(CodeFeatures, TellCandidatesThatAreBuiltApart) {
  const size_t shape = feature(/*relative=*/true);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<Example> examples;
  for (int i = 0; i < 400; ++i) {
    Example& example = examples.emplace_back(Example{.features = {}});
    for (size_t k = 0; k < kFeatureCount; ++k) example.features[k] = uniform(random);
    example.features[kRooflineFeature] = 10;
    const bool spills = uniform(random) < 0.5f;
    set_code(CodeFacts{.registers_per_thread = spills ? 255.0 : 64, .spill_bytes = spills ? 400.0 : 0},
             example.features);
    example.speed = (spills ? 0.4 : 0.8) + 0.1 * example.features[shape];
  }
  XGBoostModel model;
  ASSERT_TRUE(model.train(examples).ok());
  std::vector<Features> rows(3, examples[0].features);
  set_code(CodeFacts{.registers_per_thread = 64}, rows[0]);
  set_code(CodeFacts{.registers_per_thread = 255, .spill_bytes = 400}, rows[1]);
  set_code(std::nullopt, rows[2]);
  const std::vector<float> scores = model.score(rows);
  EXPECT_GT(scores[0], scores[1]);
  EXPECT_GT(scores[0], scores[2]) << "what is not built is judged like the average";
  EXPECT_GT(scores[2], scores[1]);
}

}  // namespace
}  // namespace tf::model
