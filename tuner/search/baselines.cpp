// The baselines that learn nothing from a model.
#include <cmath>
#include <optional>

#include "tuner/search/seen.h"
#include "tuner/search/strategies.h"
#include "tuner/space/neighbourhood.h"
#include "tuner/space/sampling.h"

namespace tf::search {
namespace {

// A space that is nearly used up, or nearly all illegal, ends the search instead of spinning.
constexpr int kDrawsPerCandidate = 200;

class RandomSearch final : public Search {
 public:
  RandomSearch(const space::DesignSpace& space, const model::Evaluator& evaluator, uint64_t seed)
      : space_(space), evaluator_(evaluator), random_(seed) {}

  std::vector<space::Candidate> propose(int count) override {
    std::vector<space::Candidate> proposals;
    for (int draw = 0; draw < count * kDrawsPerCandidate && static_cast<int>(proposals.size()) < count;
         ++draw) {
      space::Candidate candidate = space::sample(space_, random_);
      if (seen_.add(candidate) && evaluator_.legal({&candidate, 1})[0])
        proposals.push_back(std::move(candidate));
    }
    return proposals;
  }

  void update(std::span<const Observation> observations) override {
    for (const Observation& observation : observations) seen_.add(observation.candidate);
  }

 private:
  const space::DesignSpace& space_;
  const model::Evaluator& evaluator_;
  space::Random random_;
  Seen seen_;
};

class GridSearch final : public Search {
 public:
  GridSearch(const space::DesignSpace& space, const model::Evaluator& evaluator)
      : space_(space), evaluator_(evaluator) {
    next_.point.assign(space_.sketches.front().parameters.size(), 0);
  }

  std::vector<space::Candidate> propose(int count) override {
    std::vector<space::Candidate> proposals;
    while (!done_ && static_cast<int>(proposals.size()) < count) {
      if (seen_.add(next_) && evaluator_.legal({&next_, 1})[0]) proposals.push_back(next_);
      advance();
    }
    return proposals;
  }

  void update(std::span<const Observation> observations) override {
    for (const Observation& observation : observations) seen_.add(observation.candidate);
  }

 private:
  // An odometer whose last parameter turns fastest; past its end comes the next sketch.
  void advance() {
    const std::vector<space::Parameter>& parameters =
        space_.sketches[static_cast<size_t>(next_.sketch)].parameters;
    for (size_t i = parameters.size(); i-- > 0;) {
      if (++next_.point[i] < parameters[i].choices.size()) return;
      next_.point[i] = 0;
    }
    if (static_cast<size_t>(++next_.sketch) == space_.sketches.size()) {
      done_ = true;
      return;
    }
    next_.point.assign(space_.sketches[static_cast<size_t>(next_.sketch)].parameters.size(), 0);
  }

  const space::DesignSpace& space_;
  const model::Evaluator& evaluator_;
  space::Candidate next_;
  bool done_ = false;
  Seen seen_;
};

class AnnealingSearch final : public Search {
 public:
  AnnealingSearch(const space::DesignSpace& space, const model::Evaluator& evaluator, uint64_t seed)
      : space_(space), neighbourhood_(space), evaluator_(evaluator), random_(seed) {}

  std::vector<space::Candidate> propose(int count) override {
    std::vector<space::Candidate> proposals;
    for (int draw = 0; draw < count * kDrawsPerCandidate && static_cast<int>(proposals.size()) < count;
         ++draw) {
      // A chain that has seen all its neighbours jumps, so that it ends only with the space.
      const bool jump = !current_ || draw > count * kDrawsPerCandidate / 2;
      space::Candidate candidate =
          jump ? space::sample(space_, random_) : neighbourhood_.mutate(current_->candidate, random_);
      if (seen_.add(candidate) && evaluator_.legal({&candidate, 1})[0])
        proposals.push_back(std::move(candidate));
    }
    return proposals;
  }

  void update(std::span<const Observation> observations) override {
    constexpr double kCooling = 0.98;
    for (const Observation& observation : observations) {
      seen_.add(observation.candidate);
      if (!observation.seconds) continue;
      temperature_ *= kCooling;
      if (current_) {
        const double slower = std::log(*observation.seconds / *current_->seconds);
        const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;
        if (slower > 0 && uniform >= std::exp(-slower / temperature_)) continue;
      }
      current_ = observation;
    }
  }

 private:
  const space::DesignSpace& space_;
  const space::Neighbourhood neighbourhood_;
  const model::Evaluator& evaluator_;
  space::Random random_;
  Seen seen_;
  std::optional<Observation> current_;
  double temperature_ = 0.5;  // in units of the logarithm of time
};

}  // namespace

std::unique_ptr<Search> make_random(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                    uint64_t seed) {
  return std::make_unique<RandomSearch>(space, evaluator, seed);
}

std::unique_ptr<Search> make_grid(const space::DesignSpace& space, const model::Evaluator& evaluator) {
  return std::make_unique<GridSearch>(space, evaluator);
}

std::unique_ptr<Search> make_annealing(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                       uint64_t seed) {
  return std::make_unique<AnnealingSearch>(space, evaluator, seed);
}

}  // namespace tf::search
