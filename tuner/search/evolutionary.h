#pragma once
// Owns: evolutionary search, estimate then verify: a population bred from the best measured candidates and
// fresh samples is ranked by the analytic roofline model; its survivors are ranked by the learned model; the
// best are proposed, by what the model expects of them and, for each proposal to another degree, by how
// unsure it is. The form is Ansor's (Zheng et al., OSDI 2020, section 5), with the roofline model in front.

#include "absl/container/flat_hash_set.h"
#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/search/seen.h"
#include "tuner/space/neighbourhood.h"

namespace tf::search {

class EvolutionarySearch final : public Search {
 public:
  EvolutionarySearch(const space::DesignSpace& space, const model::Evaluator& evaluator,
                     model::CostModel* model, uint64_t seed)
      : space_(space), neighbourhood_(space), evaluator_(evaluator), model_(model), random_(seed) {}

  std::vector<space::Candidate> propose(int count) override;
  void update(std::span<const Observation> observations) override;
  void take_back(std::span<const space::Candidate> proposals) override {
    for (const space::Candidate& candidate : proposals) seen_.remove(candidate);
  }

 private:
  struct Individual {
    space::Candidate candidate;
    double roofline_seconds = 0;
    double fitness = 0;  // higher is better
    double spread = 0;   // how unsure that is
    bool ranked = false;
  };
  // One round's: candidates that were never proposed, best first once ranked, and all that were looked at.
  struct Population {
    std::vector<Individual> individuals;
    absl::flat_hash_set<space::Candidate> known;
  };

  void add(Population& population, std::vector<space::Candidate> candidates) const;
  void rank(Population& population) const;
  void found(Population& population, int wanted);
  void breed(Population& population);
  size_t pick(const std::vector<Individual>& order);

  const space::DesignSpace& space_;
  const space::Neighbourhood neighbourhood_;
  const model::Evaluator& evaluator_;
  model::CostModel* model_;  // may be null: the roofline model alone ranks
  space::Random random_;
  Seen seen_;
  std::vector<Observation> best_;  // fastest first
};

}  // namespace tf::search
