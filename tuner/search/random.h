#pragma once
// Owns: uniform random search, the baseline that every other strategy must beat.

#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/search/seen.h"
#include "tuner/space/sampling.h"

namespace tf::search {

class RandomSearch final : public Search {
 public:
  RandomSearch(const space::DesignSpace& space, const model::Evaluator& evaluator, uint64_t seed)
      : space_(space), evaluator_(evaluator), random_(seed) {}

  std::vector<space::Candidate> propose(int count) override;
  void update(std::span<const Observation> observations) override;

 private:
  const space::DesignSpace& space_;
  const model::Evaluator& evaluator_;
  space::Random random_;
  Seen seen_;
};

}  // namespace tf::search
