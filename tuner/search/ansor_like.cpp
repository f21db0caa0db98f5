#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "tuner/search/seen.h"
#include "tuner/search/strategies.h"
#include "tuner/space/neighbourhood.h"

namespace tf::search {
namespace {

// As published.
constexpr int kAnsorPopulation = 2048;
constexpr int kAnsorGenerations = 4;
constexpr double kMutation = 0.85;  // probability that a parent changes on its way into the next generation
constexpr double kMeasuredShare = 0.2;  // of the first generation, at most: the best measured candidates
constexpr double kRandomShare = 0.05;   // of a round

double uniform(space::Random& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

class AnsorLikeSearch final : public Search {
 public:
  AnsorLikeSearch(const space::DesignSpace& space, const model::Evaluator& evaluator, model::CostModel* model,
                  uint64_t seed)
      : space_(space), neighbourhood_(space), evaluator_(evaluator), model_(model), random_(seed) {
    has_parameters_ = std::any_of(space.sketches.begin(), space.sketches.end(),
                                  [](const space::Sketch& sketch) { return !sketch.parameters.empty(); });
  }

  // What is left of the present round, then of new ones.
  std::vector<space::Candidate> propose(int count) override {
    // A round that was chosen before the results of the one before came is chosen anew.
    if (results_ >= results_at_round_ + kAnsorLikeRound) round_.clear();
    std::vector<space::Candidate> proposals;
    while (static_cast<int>(proposals.size()) < count) {
      if (round_.empty()) start_round();
      if (round_.empty()) break;
      if (seen_.add(round_.front())) proposals.push_back(std::move(round_.front()));
      round_.pop_front();
    }
    return proposals;
  }

  void update(std::span<const Observation> observations) override {
    results_ += static_cast<int64_t>(observations.size());
    for (const Observation& observation : observations) {
      seen_.add(observation.candidate);
      if (observation.seconds) measured_.push_back(observation);
    }
    std::stable_sort(measured_.begin(), measured_.end(),
                     [](const Observation& a, const Observation& b) { return *a.seconds < *b.seconds; });
    constexpr auto kMostMeasured = static_cast<size_t>(kMeasuredShare * kAnsorPopulation);
    measured_.resize(std::min(measured_.size(), kMostMeasured));
  }

 private:
  struct Individual {
    space::Candidate candidate;
    double score = 0;  // higher is better
  };
  using Population = std::vector<Individual>;
  using Best = std::map<space::Candidate, double>;  // never proposed, by score

  // A space that is nearly all illegal gives a small population instead of spinning.
  std::vector<space::Candidate> draw_population() {
    constexpr int kDrawsPerIndividual = 20;
    const auto wanted = static_cast<size_t>(kAnsorPopulation);
    std::vector<space::Candidate> population;
    for (int round = 0; round < kDrawsPerIndividual && population.size() < wanted; ++round) {
      std::vector<space::Candidate> drawn;
      for (size_t i = 0; i < wanted; ++i) {
        drawn.push_back(space::sample(space_, random_));
        // A sketch without parameters is a schedule of ours, which the baseline must not start from.
        if (has_parameters_ && drawn.back().point.empty()) drawn.pop_back();
      }
      const std::vector<bool> legal = evaluator_.legal(drawn);
      for (size_t i = 0; i < drawn.size() && population.size() < wanted; ++i)
        if (legal[i]) population.push_back(std::move(drawn[i]));
    }
    return population;
  }

  // Those that are not legal are left out.
  Population score(std::vector<space::Candidate> candidates) {
    const std::vector<bool> legal = evaluator_.legal(candidates);
    size_t kept = 0;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (legal[i]) std::swap(candidates[kept++], candidates[i]);
    candidates.resize(kept);
    std::vector<float> scores;
    if (model_ != nullptr && model_->is_trained()) scores = model_->score(evaluator_.features(candidates));
    Population population;
    for (size_t i = 0; i < candidates.size(); ++i)
      population.push_back({std::move(candidates[i]), scores.empty() ? uniform(random_) : scores[i]});
    return population;
  }

  void keep_best(const Population& population, Best& best) const {
    for (const Individual& individual : population) {
      if (!seen_.contains(individual.candidate)) best.emplace(individual.candidate, individual.score);
    }
  }

  // Parents are drawn in proportion to their scores.
  std::vector<space::Candidate> next_generation(const Population& population) {
    std::vector<double> sums;
    double sum = 0;
    for (const Individual& individual : population) sums.push_back(sum += std::max(0.0, individual.score));
    std::vector<space::Candidate> next;
    for (int i = 0; i < kAnsorPopulation; ++i) {
      const auto found = std::upper_bound(sums.begin(), sums.end(), uniform(random_) * sum);
      const size_t parent = found == sums.end()
                                ? static_cast<size_t>(space::below(random_, population.size()))
                                : static_cast<size_t>(found - sums.begin());
      const space::Candidate& candidate = population[parent].candidate;
      next.push_back(uniform(random_) < kMutation ? neighbourhood_.mutate(candidate, random_) : candidate);
    }
    return next;
  }

  void start_round() {
    results_at_round_ = results_;
    const std::vector<space::Candidate> drawn = draw_population();
    if (drawn.empty()) return;
    std::vector<space::Candidate> first = drawn;
    for (const Observation& observation : measured_) first.push_back(observation.candidate);

    Best best;
    Population population = score(std::move(first));
    keep_best(population, best);
    for (int generation = 0; generation < kAnsorGenerations && !population.empty(); ++generation) {
      population = score(next_generation(population));
      keep_best(population, best);
    }
    Population order;
    for (const auto& [candidate, value] : best) order.push_back({candidate, value});
    // The map's order breaks ties, so that the order does not depend on the sort.
    std::stable_sort(order.begin(), order.end(),
                     [](const Individual& a, const Individual& b) { return a.score > b.score; });

    const auto size = static_cast<size_t>(kAnsorLikeRound);
    const auto random_size = static_cast<size_t>(kRandomShare * kAnsorLikeRound);
    Seen chosen;
    const auto choose = [&](const space::Candidate& candidate) {
      if (!seen_.contains(candidate) && chosen.add(candidate)) round_.push_back(candidate);
    };
    for (size_t i = 0; i < order.size() && round_.size() < size - random_size; ++i)
      choose(order[i].candidate);
    for (size_t i = 0; i < drawn.size() && round_.size() < size; ++i)
      choose(drawn[space::below(random_, drawn.size())]);
  }

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

}  // namespace

std::unique_ptr<Search> make_ansor_like(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                        model::CostModel* model, uint64_t seed) {
  return std::make_unique<AnsorLikeSearch>(space, evaluator, model, seed);
}

}  // namespace tf::search
