#include "tuner/search/evolutionary.h"

#include <algorithm>
#include <cmath>

namespace tf::search {
namespace {

constexpr int kPopulation = 1024;  // candidates that the roofline model keeps from one generation to the next
constexpr int kSurvivors = 512;    // of them, the best by the roofline model, that the learned model ranks
constexpr int kGenerations = 3;    // each breeds half a population
constexpr int kParents = 32;       // best measured candidates that breed, and as many of the population
// Share of proposals drawn from the population at random for as long as no model says how unsure it is.
constexpr double kExploration = 0.15;

}  // namespace

// Those that are new and legal.
void EvolutionarySearch::add(Population& population, std::vector<space::Candidate> candidates) const {
  std::erase_if(candidates, [&](const space::Candidate& candidate) {
    return seen_.contains(candidate) || !population.known.insert(candidate).second;
  });
  const std::vector<double> seconds = evaluator_.roofline(candidates);
  for (size_t i = 0; i < candidates.size(); ++i)
    if (std::isfinite(seconds[i])) population.individuals.push_back({std::move(candidates[i]), seconds[i]});
}

// The best first: a population of them by the roofline model, and of these, once there is a learned model, as
// many survivors by that.
void EvolutionarySearch::rank(Population& population) const {
  std::vector<Individual>& all = population.individuals;
  // The candidate breaks ties, so that the order does not depend on the sort.
  auto keep_best = [&](size_t count, auto&& rank_of) {
    std::sort(all.begin(), all.end(), [&](const Individual& a, const Individual& b) {
      return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a.candidate < b.candidate;
    });
    if (all.size() > count) all.resize(count);
  };
  keep_best(static_cast<size_t>(kPopulation), [](const Individual& i) { return i.roofline_seconds; });
  if (model_ == nullptr || !model_->is_trained()) return;
  keep_best(static_cast<size_t>(kSurvivors), [](const Individual& i) { return i.roofline_seconds; });
  std::vector<space::Candidate> fresh;
  for (const Individual& individual : all)
    if (!individual.ranked) fresh.push_back(individual.candidate);
  const std::vector<model::Features> rows = evaluator_.features(fresh);
  const std::vector<float> scores = model_->score(rows), spread = model_->spread(rows);
  size_t next = 0;
  for (Individual& individual : all) {
    if (individual.ranked) continue;
    individual.fitness = scores[next];
    individual.spread = spread[next++];
    individual.ranked = true;
  }
  keep_best(all.size(), [](const Individual& i) { return -i.fitness; });
}

// Neighbours of a seed are worth more than samples from all over, even before the seed's time is known.
void EvolutionarySearch::found(Population& population, int wanted) {
  std::vector<space::Candidate> candidates;
  for (size_t sketch = 0; sketch < space_.sketches.size(); ++sketch)
    for (const space::Point& point : space_.sketches[sketch].seeds)
      for (int i = 0; i < kParents; ++i)
        candidates.push_back(neighbourhood_.mutate({static_cast<int>(sketch), point}, random_));
  add(population, std::move(candidates));
  for (int round = 0; round < 4 && static_cast<int>(population.individuals.size()) < wanted; ++round) {
    candidates.clear();
    for (int i = 0; i < wanted; ++i) candidates.push_back(space::sample(space_, random_));
    add(population, std::move(candidates));
  }
}

void EvolutionarySearch::breed(Population& population) {
  std::vector<space::Candidate> parents;
  for (const Observation& observation : best_) parents.push_back(observation.candidate);
  for (const Individual& individual : population.individuals) {
    if (static_cast<int>(parents.size()) >= 2 * kParents) break;
    parents.push_back(individual.candidate);
  }
  if (parents.empty()) return;
  std::vector<space::Candidate> children;
  for (int i = 0; i < kPopulation / 2; ++i) {
    const space::Candidate& a = parents[space::below(random_, parents.size())];
    const space::Candidate& b = parents[space::below(random_, parents.size())];
    const bool cross = a.sketch == b.sketch && space::below(random_, 3) == 0;
    children.push_back(cross ? space::crossover(a, b, random_) : neighbourhood_.mutate(a, random_));
  }
  add(population, std::move(children));
}

std::vector<space::Candidate> EvolutionarySearch::propose(int count) {
  Population population;
  found(population, std::max(kPopulation, 2 * count));
  rank(population);
  for (int generation = 0; generation < kGenerations; ++generation) {
    breed(population);
    rank(population);
  }
  std::vector<Individual>& order = population.individuals;
  std::vector<space::Candidate> proposals;
  while (static_cast<int>(proposals.size()) < count && !order.empty()) {
    const auto chosen = order.begin() + static_cast<std::ptrdiff_t>(pick(order));
    if (seen_.add(chosen->candidate)) proposals.push_back(std::move(chosen->candidate));
    order.erase(chosen);
  }
  return proposals;
}

// Of the order, best first, the next one to try. With a model that says how unsure it is: the greatest score
// plus λ times the spread, λ drawn anew each time from the exponential distribution, so that of proposals
// that are made together some are safe and some are bold (Hutter et al., "Parallel algorithm configuration",
// LION 2012).
size_t EvolutionarySearch::pick(const std::vector<Individual>& order) {
  const double draw = static_cast<double>(random_() >> 11) * 0x1p-53;
  const bool is_unsure = std::ranges::any_of(order, [](const Individual& each) { return each.spread > 0; });
  if (!is_unsure) return draw < kExploration ? space::below(random_, order.size()) : 0;
  const double lambda = -std::log1p(-draw);
  const auto hope = [lambda](const Individual& each) { return each.fitness + lambda * each.spread; };
  const auto best =
      std::max_element(order.begin(), order.end(),
                       [&](const Individual& a, const Individual& b) { return hope(a) < hope(b); });
  return static_cast<size_t>(best - order.begin());
}

void EvolutionarySearch::update(std::span<const Observation> observations) {
  for (const Observation& observation : observations) {
    seen_.add(observation.candidate);
    if (observation.seconds) best_.push_back(observation);
  }
  std::stable_sort(best_.begin(), best_.end(),
                   [](const Observation& a, const Observation& b) { return *a.seconds < *b.seconds; });
  if (static_cast<int>(best_.size()) > kParents) best_.resize(static_cast<size_t>(kParents));
}

}  // namespace tf::search
