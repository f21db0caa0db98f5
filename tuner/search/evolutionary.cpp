#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "tuner/search/seen.h"
#include "tuner/search/strategies.h"
#include "tuner/space/neighbourhood.h"

namespace tf::search {
namespace {

constexpr int kPopulation = 1024;  // candidates that the roofline model keeps from one generation to the next
constexpr int kSurvivors = 512;    // of them, the best by the roofline model, that the learned model ranks
constexpr int kGenerations = 3;    // each breeds half a population
constexpr int kParents = 32;       // best measured candidates that breed, and as many of the population
// Share of proposals drawn from the population at random for as long as no model says how unsure it is.
constexpr double kExploration = 0.15;

class EvolutionarySearch final : public Search {
 public:
  EvolutionarySearch(const space::DesignSpace& space, const model::Evaluator& evaluator,
                     model::CostModel* model, uint64_t seed)
      : space_(space), neighbourhood_(space), evaluator_(evaluator), model_(model), random_(seed) {}

  std::vector<space::Candidate> propose(int count) override {
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

  void update(std::span<const Observation> observations) override {
    for (const Observation& observation : observations) {
      seen_.add(observation.candidate);
      if (observation.seconds) best_.push_back(observation);
    }
    std::stable_sort(best_.begin(), best_.end(),
                     [](const Observation& a, const Observation& b) { return *a.seconds < *b.seconds; });
    if (static_cast<int>(best_.size()) > kParents) best_.resize(static_cast<size_t>(kParents));
  }

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

  // Those that are new and legal.
  void add(Population& population, std::vector<space::Candidate> candidates) const {
    std::erase_if(candidates, [&](const space::Candidate& candidate) {
      return seen_.contains(candidate) || !population.known.insert(candidate).second;
    });
    const std::vector<double> seconds = evaluator_.roofline(candidates);
    for (size_t i = 0; i < candidates.size(); ++i)
      if (std::isfinite(seconds[i])) population.individuals.push_back({std::move(candidates[i]), seconds[i]});
  }

  // The best first: a population of them by the roofline model, and of these, once there is a learned model, as
  // many survivors by that.
  void rank(Population& population) const {
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

  // Neighbours of a default are worth more than samples from all over, even before its time is known.
  void found(Population& population, int wanted) {
    std::vector<space::Candidate> candidates;
    for (size_t sketch = 0; sketch < space_.sketches.size(); ++sketch)
      for (int i = 0; i < kParents; ++i)
        candidates.push_back(neighbourhood_.mutate(
            {static_cast<int>(sketch), space_.sketches[sketch].default_point()}, random_));
    add(population, std::move(candidates));
    for (int round = 0; round < 4 && static_cast<int>(population.individuals.size()) < wanted; ++round) {
      candidates.clear();
      for (int i = 0; i < wanted; ++i) candidates.push_back(space::sample(space_, random_));
      add(population, std::move(candidates));
    }
  }

  void breed(Population& population) {
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

  // Of the order, best first, the next one to try. With a model that says how unsure it is: the greatest score
  // plus λ times the spread, λ drawn anew each time from the exponential distribution, so that of proposals
  // that are made together some are safe and some are bold (Hutter et al., "Parallel algorithm configuration",
  // LION 2012).
  size_t pick(const std::vector<Individual>& order) {
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

  const space::DesignSpace& space_;
  const space::Neighbourhood neighbourhood_;
  const model::Evaluator& evaluator_;
  model::CostModel* model_;  // may be null: the roofline model alone ranks
  space::Random random_;
  Seen seen_;
  std::vector<Observation> best_;  // fastest first
};

}  // namespace

std::unique_ptr<Search> make_evolutionary(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                          model::CostModel* model, uint64_t seed) {
  return std::make_unique<EvolutionarySearch>(space, evaluator, model, seed);
}

}  // namespace tf::search
