#include "tuner/space/sampling.h"

#include "base/check.h"

namespace tf::space {
uint64_t below(Random& random, uint64_t count) {
  TF_CHECK(count > 0) << "a draw from nothing";
  // Rejection keeps the draw uniform for every count.
  const uint64_t limit = Random::max() - Random::max() % count;
  uint64_t value = random();
  while (value >= limit) value = random();
  return value % count;
}

Candidate sample(const DesignSpace& space, Random& random) {
  Candidate candidate;
  candidate.sketch = static_cast<int>(below(random, space.sketches.size()));
  for (const Parameter& parameter : space.sketches[static_cast<size_t>(candidate.sketch)].parameters) {
    candidate.point.push_back(static_cast<uint32_t>(below(random, parameter.choices.size())));
  }
  return candidate;
}

Candidate crossover(const Candidate& a, const Candidate& b, Random& random) {
  TF_CHECK(a.sketch == b.sketch && a.point.size() == b.point.size()) << "parents of different sketches";
  Candidate child = a;
  for (size_t i = 0; i < child.point.size(); ++i) {
    if (below(random, 2) == 0) child.point[i] = b.point[i];
  }
  return child;
}

}  // namespace tf::space
