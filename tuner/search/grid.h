#pragma once
// Owns: grid search: every point of every sketch in order. Complete, so it is the oracle on small spaces.

#include <set>

#include "tuner/model/evaluator.h"
#include "tuner/search/search.h"
#include "tuner/search/seen.h"

namespace tf::search {

class GridSearch final : public Search {
 public:
  GridSearch(const space::DesignSpace& space, const model::Evaluator& evaluator);

  std::vector<space::Candidate> propose(int count) override;
  void update(std::span<const Observation> observations) override;

 private:
  void advance();

  const space::DesignSpace& space_;
  const model::Evaluator& evaluator_;
  space::Candidate next_;
  bool done_ = false;
  Seen seen_;
};

}  // namespace tf::search
