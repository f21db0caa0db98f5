#pragma once
// Owns: a baseline like Ansor (Zheng et al., OSDI 2020, section 5, with the constants of its implementation
// in TVM): rounds of measurements, each chosen by evolution under the learned model alone. The search has
// no roofline model, no seeds, no crossover; until the model has learned something, its choice is random. But
// the features are those of all strategies, so that its trees see the roofline model's time and shares. It
// stays as published, for comparison; better ideas go to the other strategies.

#include <deque>
#include <map>
#include <vector>

#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/search/seen.h"
#include "tuner/space/neighbourhood.h"

namespace tf::search {

inline constexpr int kAnsorLikeRound = 64;  // measurements

class AnsorLikeSearch final : public Search {
 public:
  AnsorLikeSearch(const space::DesignSpace& space, const model::Evaluator& evaluator, model::CostModel* model,
                  uint64_t seed);

  // What is left of the present round, then of new ones.
  std::vector<space::Candidate> propose(int count) override;
  void update(std::span<const Observation> observations) override;

 private:
  struct Individual {
    space::Candidate candidate;
    double score = 0;  // higher is better
  };
  using Population = std::vector<Individual>;
  using Best = std::map<space::Candidate, double>;  // never proposed, by score

  std::vector<space::Candidate> draw_population();
  Population score(std::vector<space::Candidate> candidates);
  void keep_best(const Population& population, Best& best) const;
  std::vector<space::Candidate> next_generation(const Population& population);
  void start_round();

  const space::DesignSpace& space_;
  const space::Neighbourhood neighbourhood_;
  const model::Evaluator& evaluator_;
  model::CostModel* model_;  // may be null: every choice is random
  space::Random random_;
  bool has_parameters_ = false;  // whether any sketch has
  Seen seen_;
  std::vector<Observation> measured_;  // the best, fastest first
  std::deque<space::Candidate> round_;
  int64_t results_ = 0, results_at_round_ = 0;
};

}  // namespace tf::search
