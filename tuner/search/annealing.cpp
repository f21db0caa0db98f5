#include "tuner/search/annealing.h"

#include <cmath>

namespace tf::search {

std::vector<space::Candidate> AnnealingSearch::propose(int count) {
  constexpr int kDrawsPerCandidate = 200;
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

void AnnealingSearch::update(std::span<const Observation> observations) {
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

}  // namespace tf::search
