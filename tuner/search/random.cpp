#include "tuner/search/random.h"

namespace tf::search {

std::vector<space::Candidate> RandomSearch::propose(int count) {
  // A space that is nearly used up, or nearly all illegal, ends the search instead of spinning.
  constexpr int kDrawsPerCandidate = 200;
  std::vector<space::Candidate> proposals;
  for (int draw = 0; draw < count * kDrawsPerCandidate && static_cast<int>(proposals.size()) < count;
       ++draw) {
    space::Candidate candidate = space::sample(space_, random_);
    if (seen_.add(candidate) && evaluator_.legal({&candidate, 1})[0])
      proposals.push_back(std::move(candidate));
  }
  return proposals;
}

void RandomSearch::update(std::span<const Observation> observations) {
  for (const Observation& observation : observations) seen_.add(observation.candidate);
}

}  // namespace tf::search
