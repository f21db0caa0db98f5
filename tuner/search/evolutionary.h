#pragma once
// Owns: evolutionary search, draft then verify: a population bred from the best measured candidates and fresh
// samples is ranked by the analytic draft model; its survivors are ranked by the learned model; the best are
// proposed, with a share kept for exploration. The form is Ansor's (Zheng et al., OSDI 2020, section 5), with
// the draft model in front.

#include <map>

#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/search/seen.h"
#include "tuner/space/sampling.h"

namespace tf::search {

struct EvolutionaryOptions {
  int population = 384;
  int generations = 3;
  int parents = 32;           // best measured candidates that breed
  double exploration = 0.15;  // share of proposals drawn from the population at random
};

class EvolutionarySearch final : public Search {
 public:
  EvolutionarySearch(const space::DesignSpace& space, const model::Evaluator& evaluator,
                     model::CostModel* model, uint64_t seed, const EvolutionaryOptions& options = {})
      : space_(space), evaluator_(evaluator), model_(model), random_(seed), options_(options) {}

  std::vector<space::Candidate> propose(int count) override;
  void update(std::span<const Observation> observations) override;

 private:
  struct Individual {
    space::Candidate candidate;
    model::Judgement judgement;
    double fitness = 0;
  };
  using Population = std::map<space::Candidate, Individual>;

  void add(Population& population, const space::Candidate& candidate) const;
  void breed(Population& population);
  std::vector<Individual> ranked(const Population& population) const;

  const space::DesignSpace& space_;
  const model::Evaluator& evaluator_;
  model::CostModel* model_;  // may be null: the draft model alone ranks
  space::Random random_;
  EvolutionaryOptions options_;
  Seen seen_;
  std::vector<Observation> best_;  // fastest first
};

}  // namespace tf::search
