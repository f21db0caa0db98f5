// A contract that every strategy keeps, and the one comparison that justifies the elaborate one.

#include "tuner/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tests/support/tuner/test_problems.h"
#include "tuner/model/learned/xgboost_model.h"
#include "tuner/space/sampling.h"

namespace tf::search {

static void PrintTo(Kind kind, std::ostream* out) {
  *out << kind_name(kind);
}

namespace {

struct Setting {
  target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  space::DesignSpace space;
  model::Evaluator evaluator;

  explicit Setting(int64_t size = 64)
      : space(space::generate_space(tensor::for_target(test::matmul_problem(size, size, size), target, 1))),
        evaluator(space, target, 1) {}

  // A stand-in for measuring: distorts the roofline model, so that nothing knows it exactly. Over the
  // parameters of a product that makes factors of 1.5, give or take a seventh: about as far off as the
  // roofline model is of what devices say.
  double seconds(const space::Candidate& candidate) const {
    double distortion = 1;
    for (size_t i = 0; i < candidate.point.size(); ++i) {
      distortion += 0.1 * std::fabs(std::sin(static_cast<double>(candidate.point[i] * (i + 3) + 1)));
    }
    return evaluator.judge(candidate)->roofline_seconds * distortion;
  }

  // The best time found within so many trials; the model, if there is one, learns after each batch.
  double best_after(Search& search, int trials, model::CostModel* model = nullptr) const {
    double best = 1e9;
    std::vector<Observation> all;
    while (static_cast<int>(all.size()) < trials) {
      const std::vector<space::Candidate> batch =
          search.propose(std::min(8, trials - static_cast<int>(all.size())));
      if (batch.empty()) break;
      std::vector<Observation> observations;
      for (const space::Candidate& candidate : batch) {
        observations.push_back({candidate, seconds(candidate)});
        best = std::min(best, *observations.back().seconds);
      }
      search.update(observations);
      all.insert(all.end(), observations.begin(), observations.end());
      if (model != nullptr) {
        std::vector<model::Example> examples;
        for (const Observation& o : all)
          examples.push_back({evaluator.judge(o.candidate)->features, best / *o.seconds});
        EXPECT_TRUE(model->train(examples).ok());
      }
    }
    return best;
  }
};

class EveryStrategy : public testing::TestWithParam<Kind> {};

TEST_P(EveryStrategy, ProposesLegalCandidatesAndNoneTwice) {
  const Setting setting;
  auto search = make_search(setting.space, setting.evaluator, {.kind = GetParam(), .seed = 5});
  std::set<space::Candidate> seen;
  for (int round = 0; round < 6; ++round) {
    for (const space::Candidate& candidate : search->propose(16)) {
      EXPECT_TRUE(setting.evaluator.judge(candidate).has_value());
      EXPECT_TRUE(seen.insert(candidate).second) << "proposed twice";
      const Observation observation{candidate, setting.seconds(candidate)};
      search->update({&observation, 1});
    }
  }
  EXPECT_GT(seen.size(), 50u);
}

TEST_P(EveryStrategy, ProposesTheSameForTheSameSeedAndObservations) {
  const Setting setting;
  std::vector<space::Candidate> runs[2];
  for (auto& run : runs) {
    auto search = make_search(setting.space, setting.evaluator, {.kind = GetParam(), .seed = 9});
    for (int round = 0; round < 3; ++round) {
      for (const space::Candidate& candidate : search->propose(8)) {
        run.push_back(candidate);
        const Observation observation{candidate, setting.seconds(candidate)};
        search->update({&observation, 1});
      }
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST_P(EveryStrategy, EndsWhenTheSpaceIsUsedUp) {
  const Setting setting(1);  // a 1x1x1 product leaves hardly a choice
  auto search = make_search(setting.space, setting.evaluator, {.kind = GetParam(), .seed = 2});
  size_t total = 0;
  for (int round = 0; round < 50; ++round) {
    const size_t count = search->propose(16).size();
    total += count;
    if (count == 0) break;
  }
  EXPECT_GE(total, 1u);
  EXPECT_LE(static_cast<double>(total), setting.space.size());
  EXPECT_TRUE(search->propose(16).empty());
}

TEST_P(EveryStrategy, DoesNotProposeWhatTheDatabaseKnows) {
  const Setting setting;
  auto probe = make_search(setting.space, setting.evaluator, {.kind = GetParam(), .seed = 4});
  const std::vector<space::Candidate> known = probe->propose(8);
  auto search = make_search(setting.space, setting.evaluator, {.kind = GetParam(), .seed = 4});
  for (const space::Candidate& candidate : known) {
    const Observation observation{candidate, std::nullopt};
    search->update({&observation, 1});
  }
  for (const space::Candidate& candidate : search->propose(16)) {
    EXPECT_EQ(std::count(known.begin(), known.end(), candidate), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Search, EveryStrategy,
                         testing::Values(Kind::kRandom, Kind::kGrid, Kind::kAnnealing, Kind::kEvolutionary,
                                         Kind::kAnsorLike),
                         [](const auto& each) { return std::string(kind_name(each.param)); });

// Finds all candidates equal, and counts how often it is asked.
class CountingModel final : public model::CostModel {
 public:
  absl::Status train(std::span<const model::Example>) override { return absl::OkStatus(); }
  bool is_trained() const override { return true; }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    ++asked;
    return std::vector<float>(rows.size(), 1);
  }
  mutable int asked = 0;
};

// As one that other tasks taught nothing: without trees, it says what the roofline model says, and never how
// unsure it is.
class SureModel final : public model::CostModel {
 public:
  absl::Status train(std::span<const model::Example>) override { return absl::OkStatus(); }
  bool is_trained() const override { return true; }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    std::vector<float> scores;
    for (const model::Features& row : rows) scores.push_back(-row[model::kRooflineFeature]);
    return scores;
  }
};

TEST(Evolutionary, ExploresAsWithoutAModelWhereItsModelDoesNotSayHowUnsureItIs) {
  const Setting setting(128);
  SureModel model;
  auto search = make_search(setting.space, setting.evaluator,
                            {.kind = Kind::kEvolutionary, .seed = 3, .model = &model});
  const std::vector<space::Candidate> proposals = search->propose(100);
  const std::vector<model::Features> rows = setting.evaluator.features(proposals);
  // Who goes by the roofline model alone proposes slower and slower ones.
  int faster = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i)
    faster += rows[i + 1][model::kRooflineFeature] < rows[i][model::kRooflineFeature];
  EXPECT_GE(faster, 5);
  EXPECT_LE(faster, 30);
}

TEST(AnsorLike, ChoosesARoundWithTheResultsOfTheOneBefore) {
  const Setting setting(128);
  CountingModel model;
  auto search =
      make_search(setting.space, setting.evaluator, {.kind = Kind::kAnsorLike, .seed = 3, .model = &model});
  const std::vector<space::Candidate> round = search->propose(64);
  ASSERT_EQ(round.size(), 64u);
  EXPECT_EQ(search->propose(4).size(), 4u) << "more than a round, before any result";
  const int asked = model.asked;
  for (const space::Candidate& candidate : round) {
    const Observation observation{candidate, setting.seconds(candidate)};
    search->update({&observation, 1});
  }
  EXPECT_EQ(search->propose(16).size(), 16u);
  EXPECT_GT(model.asked, asked) << "the rest of a round from before the results was handed out";
}

TEST(AnsorLike, LearnsBySpeedAloneWithTreesOfThePublishedDepthAndRate) {
  const model::XGBoostOptions trees = booster_options(Kind::kAnsorLike, 7);
  EXPECT_EQ(trees.lesson, model::Lesson::kSpeed);
  EXPECT_EQ(trees.max_depth, 10);
  EXPECT_EQ(trees.learning_rate, 0.2);
  EXPECT_EQ(trees.rounds, 300);
  EXPECT_EQ(trees.seed, 7u);
  const model::XGBoostOptions ours = booster_options(Kind::kEvolutionary, 7);
  EXPECT_EQ(ours.lesson, model::Lesson::kOrder);
  EXPECT_EQ(ours.rounds, model::XGBoostOptions().rounds);
  EXPECT_EQ(ours.seed, 7u);
}

TEST(Evolutionary, ProposesAgainWhatItGotBack) {
  const Setting setting(16);
  const auto search = make_search(setting.space, setting.evaluator, {.kind = Kind::kEvolutionary, .seed = 3});
  const std::vector<space::Candidate> kept = search->propose(8), dropped = search->propose(8);
  ASSERT_EQ(dropped.size(), 8u);
  search->take_back(dropped);
  std::set<space::Candidate> again;
  for (int round = 0; round < 8; ++round)
    for (space::Candidate& candidate : search->propose(64)) again.insert(std::move(candidate));
  int found = 0;
  for (const space::Candidate& candidate : dropped) found += again.contains(candidate);
  EXPECT_GE(found, 6) << "they are still among the best by the roofline model, but for explorations";
  for (const space::Candidate& candidate : kept) EXPECT_FALSE(again.contains(candidate));
}

// Finds all candidates equally good, and is unsure of about half of them.
class UnsureModel final : public model::CostModel {
 public:
  absl::Status train(std::span<const model::Example>) override { return absl::OkStatus(); }
  bool is_trained() const override { return true; }
  std::vector<float> score(std::span<const model::Features> rows) const override {
    return std::vector<float>(rows.size(), 1);
  }
  std::vector<float> spread(std::span<const model::Features> rows) const override {
    std::vector<float> spread;
    for (const model::Features& row : rows) spread.push_back(is_unsure(row) ? 0.5f : 0);
    return spread;
  }
  static bool is_unsure(const model::Features& row) {
    return static_cast<int64_t>(row[model::kRooflineFeature] * 64) % 2 == 0;
  }
};

TEST(Evolutionary, PrefersOfEquallyGoodCandidatesThoseOfWhichTheModelIsUnsure) {
  const Setting setting(128);
  UnsureModel model;
  auto search = make_search(setting.space, setting.evaluator,
                            {.kind = Kind::kEvolutionary, .seed = 3, .model = &model});
  const std::vector<space::Candidate> batch = search->propose(16);
  ASSERT_EQ(batch.size(), 16u);
  for (const model::Features& row : setting.evaluator.features(batch))
    EXPECT_TRUE(UnsureModel::is_unsure(row));
}

TEST(Evolutionary, BeatsRandomSearchAtTheSameNumberOfTrials) {
  const Setting setting(500);  // a space in which chance finds nothing near the best in so few trials
  int wins = 0;
  constexpr int kSeeds = 20;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    model::XGBoostModel model;
    auto random = make_search(setting.space, setting.evaluator, {.kind = Kind::kRandom, .seed = seed});
    auto evolutionary = make_search(setting.space, setting.evaluator,
                                    {.kind = Kind::kEvolutionary, .seed = seed, .model = &model});
    wins += setting.best_after(*evolutionary, 64, &model) < setting.best_after(*random, 64);
  }
  EXPECT_GE(wins, 18) << "of " << kSeeds;
}

TEST(XGBoostModel, RanksWhatItHasLearnedBetterThanChance) {
  const Setting setting(128);
  space::Random random(11);
  std::vector<model::Example> examples;
  std::vector<double> seconds;
  double best = 1e9;
  while (examples.size() < 400) {
    const space::Candidate candidate = space::sample(setting.space, random);
    const std::optional<model::Judgement> judgement = setting.evaluator.judge(candidate);
    if (!judgement) continue;
    seconds.push_back(setting.seconds(candidate));
    best = std::min(best, seconds.back());
    examples.push_back({judgement->features, 0});
  }
  for (size_t i = 0; i < examples.size(); ++i) examples[i].speed = best / seconds[i];
  model::XGBoostModel model;
  EXPECT_FALSE(model.is_trained());
  ASSERT_TRUE(model.train({examples.data(), 300}).ok());
  ASSERT_TRUE(model.is_trained());

  std::vector<model::Features> held_out;
  for (size_t i = 300; i < 400; ++i) held_out.push_back(examples[i].features);
  const std::vector<float> scores = model.score(held_out);
  int right = 0, pairs = 0;
  for (size_t a = 0; a < 100; ++a) {
    for (size_t b = a + 1; b < 100; ++b) {
      if (std::fabs(std::log(seconds[300 + a] / seconds[300 + b])) < 0.05) continue;  // as good as equal
      ++pairs;
      right += (scores[a] > scores[b]) == (seconds[300 + a] < seconds[300 + b]);
    }
  }
  EXPECT_GT(right, 0.75 * pairs) << right << " of " << pairs;
}

}  // namespace
}  // namespace tf::search
