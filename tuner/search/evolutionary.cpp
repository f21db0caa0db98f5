#include "tuner/search/evolutionary.h"

#include <algorithm>

namespace tf::search {

void EvolutionarySearch::add(Population& population, const space::Candidate& candidate) const {
  if (population.contains(candidate) || seen_.contains(candidate)) return;
  if (std::optional<model::Judgement> judgement = evaluator_.judge(candidate)) {
    population.emplace(candidate, Individual{candidate, *judgement});
  }
}

void EvolutionarySearch::breed(Population& population) {
  const std::vector<Individual> elite = ranked(population);
  std::vector<space::Candidate> parents;
  for (const Observation& observation : best_) parents.push_back(observation.candidate);
  for (const Individual& individual : elite) {
    if (static_cast<int>(parents.size()) >= 2 * options_.parents) break;
    parents.push_back(individual.candidate);
  }
  if (parents.empty()) return;
  for (int i = 0; i < options_.population / 2; ++i) {
    const space::Candidate& a = parents[space::below(random_, parents.size())];
    const space::Candidate& b = parents[space::below(random_, parents.size())];
    const bool cross = a.sketch == b.sketch && space::below(random_, 3) == 0;
    add(population, cross ? space::crossover(a, b, random_) : space::mutate(space_, a, random_));
  }
}

std::vector<EvolutionarySearch::Individual> EvolutionarySearch::ranked(const Population& population) const {
  std::vector<Individual> individuals;
  individuals.reserve(population.size());
  for (const auto& [candidate, individual] : population) individuals.push_back(individual);
  if (model_ != nullptr && model_->is_trained()) {
    std::vector<model::Features> rows;
    rows.reserve(individuals.size());
    for (const Individual& individual : individuals) rows.push_back(individual.judgement.features);
    const std::vector<float> scores = model_->score(rows);
    for (size_t i = 0; i < individuals.size(); ++i) individuals[i].fitness = scores[i];
  } else {
    for (Individual& individual : individuals) individual.fitness = -individual.judgement.draft_seconds;
  }
  // The candidate breaks ties, so that the order does not depend on the sort.
  std::sort(individuals.begin(), individuals.end(), [](const Individual& a, const Individual& b) {
    return a.fitness != b.fitness ? a.fitness > b.fitness : a.candidate < b.candidate;
  });
  return individuals;
}

std::vector<space::Candidate> EvolutionarySearch::propose(int count) {
  Population population;
  // Neighbours of a seed are worth more than samples from all over, even before the seed's time is known.
  for (size_t sketch = 0; sketch < space_.sketches.size(); ++sketch) {
    for (const space::Point& point : space_.sketches[sketch].seeds) {
      for (int i = 0; i < options_.parents; ++i) {
        add(population, space::mutate(space_, {static_cast<int>(sketch), point}, random_));
      }
    }
  }
  const int wanted = std::max(options_.population, 2 * count);
  for (int draw = 0; draw < 4 * wanted && static_cast<int>(population.size()) < wanted; ++draw) {
    add(population, space::sample(space_, random_));
  }
  for (int generation = 0; generation < options_.generations; ++generation) breed(population);

  std::vector<Individual> order = ranked(population);
  std::vector<space::Candidate> proposals;
  size_t next_best = 0;
  while (static_cast<int>(proposals.size()) < count && next_best < order.size()) {
    const bool explore = static_cast<double>(random_() >> 11) * 0x1p-53 < options_.exploration;
    const space::Candidate& candidate =
        explore ? order[space::below(random_, order.size())].candidate : order[next_best++].candidate;
    if (seen_.add(candidate)) proposals.push_back(candidate);
  }
  return proposals;
}

void EvolutionarySearch::update(std::span<const Observation> observations) {
  for (const Observation& observation : observations) {
    seen_.add(observation.candidate);
    if (observation.seconds) best_.push_back(observation);
  }
  std::stable_sort(best_.begin(), best_.end(),
                   [](const Observation& a, const Observation& b) { return *a.seconds < *b.seconds; });
  if (static_cast<int>(best_.size()) > options_.parents) best_.resize(static_cast<size_t>(options_.parents));
}

}  // namespace tf::search
