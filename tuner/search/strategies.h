#pragma once
// Owns: the list of the search strategies, one function each, which search.cpp chooses from. Arguments as make_search's; a
// model may be null.

#include <memory>

#include "tuner/search/search.h"

namespace tf::search {

// Uniform random search, the baseline that every other strategy must beat.
std::unique_ptr<Search> make_random(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                    uint64_t seed);

// Every point of every sketch in order. Complete, so it is the oracle on small spaces.
std::unique_ptr<Search> make_grid(const space::DesignSpace& space, const model::Evaluator& evaluator);

// Simulated annealing on measured times (Kirkpatrick et al., Science 220, 1983), one chain: AutoTVM's
// classical baseline without its model.
std::unique_ptr<Search> make_annealing(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                       uint64_t seed);

// Evolutionary search, estimate then verify: a population bred from the best measured candidates and
// fresh samples is ranked by the analytic roofline model; its survivors are ranked by the learned model; the
// best are proposed, by what the model expects of them and, for each proposal to another degree, by how
// unsure it is. The form is Ansor's (Zheng et al., OSDI 2020, section 5), with the roofline model in front.
// Without a model, the roofline model alone ranks.
std::unique_ptr<Search> make_evolutionary(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                          model::CostModel* model, uint64_t seed);

// A baseline like Ansor (Zheng et al., OSDI 2020, section 5, with the constants of its implementation
// in TVM): rounds of measurements, each chosen by evolution under the learned model alone. The search has
// no roofline model, no seeds, no crossover; until the model has learned something, its choice is random. But
// the features are those of all strategies, so that its trees see the roofline model's time and shares. It
// stays as published, for comparison; better ideas go to the other strategies.
std::unique_ptr<Search> make_ansor_like(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                        model::CostModel* model, uint64_t seed);
inline constexpr int kAnsorLikeRound = 64;  // measurements

}  // namespace tf::search
