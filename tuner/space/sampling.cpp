#include "tuner/space/sampling.h"

#include <cstdlib>

#include "base/check.h"

namespace tf::space {
namespace {

// How far apart two choices are: the number of parts that differ.
int distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  int differing = 0;
  for (size_t i = 0; i < a.size(); ++i) differing += a[i] != b[i];
  return differing;
}

// A choice that differs from `current` in as few parts as a random walk of a few draws finds.
uint32_t neighbour(const Slot& slot, uint32_t current, Random& random) {
  constexpr int kDraws = 8;
  uint32_t best = current;
  int best_distance = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto other = static_cast<uint32_t>(below(random, slot.choices.size()));
    if (other == current) continue;
    const int d = distance(slot.choices[current], slot.choices[other]);
    if (best == current || d < best_distance) {
      best = other;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace

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
  for (const Slot& slot : space.sketches[static_cast<size_t>(candidate.sketch)].slots) {
    candidate.point.push_back(static_cast<uint32_t>(below(random, slot.choices.size())));
  }
  return candidate;
}

Candidate mutate(const DesignSpace& space, const Candidate& parent, Random& random) {
  Candidate child = parent;
  const std::vector<Slot>& slots = space.sketches[static_cast<size_t>(parent.sketch)].slots;
  std::vector<size_t> open;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].choices.size() > 1) open.push_back(i);
  }
  if (open.empty()) return child;
  const uint64_t changes = 1 + below(random, 2);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t slot = open[below(random, open.size())];
    child.point[slot] = below(random, 2) == 0
                            ? neighbour(slots[slot], child.point[slot], random)
                            : static_cast<uint32_t>(below(random, slots[slot].choices.size()));
  }
  return child;
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
