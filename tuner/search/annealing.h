#pragma once
// Owns: simulated annealing on measured times (Kirkpatrick et al., Science 220, 1983), one chain: AutoTVM's
// classical baseline without its model.

#include <optional>

#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/search/seen.h"
#include "tuner/space/neighbourhood.h"

namespace tf::search {

class AnnealingSearch final : public Search {
 public:
  AnnealingSearch(const space::DesignSpace& space, const model::Evaluator& evaluator, uint64_t seed)
      : space_(space), neighbourhood_(space), evaluator_(evaluator), random_(seed) {}

  std::vector<space::Candidate> propose(int count) override;
  void update(std::span<const Observation> observations) override;

 private:
  const space::DesignSpace& space_;
  const space::Neighbourhood neighbourhood_;
  const model::Evaluator& evaluator_;
  space::Random random_;
  Seen seen_;
  std::optional<Observation> current_;
  double temperature_ = 0.5;  // in units of the logarithm of time
};

}  // namespace tf::search
