#include "tuner/search/grid.h"

namespace tf::search {

GridSearch::GridSearch(const space::DesignSpace& space, const model::Evaluator& evaluator)
    : space_(space), evaluator_(evaluator) {
  next_.point.assign(space_.sketches.front().parameters.size(), 0);
}

std::vector<space::Candidate> GridSearch::propose(int count) {
  std::vector<space::Candidate> proposals;
  while (!done_ && static_cast<int>(proposals.size()) < count) {
    if (seen_.add(next_) && evaluator_.legal({&next_, 1})[0]) proposals.push_back(next_);
    advance();
  }
  return proposals;
}

void GridSearch::advance() {
  // An odometer whose last parameter turns fastest; past its end comes the next sketch.
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

void GridSearch::update(std::span<const Observation> observations) {
  for (const Observation& observation : observations) seen_.add(observation.candidate);
}

}  // namespace tf::search
