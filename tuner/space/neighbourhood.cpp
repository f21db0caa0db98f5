#include "tuner/space/neighbourhood.h"

#include <algorithm>
#include <map>

namespace tf::space {
namespace {

using Choice = std::vector<int64_t>;

int64_t product(const Choice& choice) {
  int64_t all = 1;
  for (int64_t part : choice) all *= part;
  return all;
}

// Choices with one key stand in a line, in the order of their parts; neighbours stand next to each other.
template <typename KeyOf>
void join_lines(const Slot& slot, KeyOf&& key_of, std::vector<std::vector<uint32_t>>& neighbours) {
  std::map<Choice, std::map<Choice, uint32_t>> lines;
  for (uint32_t i = 0; i < slot.choices.size(); ++i) lines[key_of(slot.choices[i])][slot.choices[i]] = i;
  for (const auto& [key, line] : lines) {
    const uint32_t* before = nullptr;
    for (const auto& [choice, index] : line) {
      if (before != nullptr) {
        neighbours[*before].push_back(index);
        neighbours[index].push_back(*before);
      }
      before = &index;
    }
  }
}

std::vector<std::vector<uint32_t>> neighbours_of(const Slot& slot) {
  std::vector<std::vector<uint32_t>> neighbours(slot.choices.size());
  const size_t parts = slot.choices.front().size();
  for (size_t part = 0; part < parts; ++part) {
    auto others = [part](Choice choice) {
      choice.erase(choice.begin() + static_cast<std::ptrdiff_t>(part));
      return choice;
    };
    join_lines(slot, others, neighbours);
  }
  if (parts > 1)
    join_lines(
        slot, [](const Choice& choice) { return Choice{product(choice)}; }, neighbours);
  return neighbours;
}

}  // namespace

Neighbourhood::Neighbourhood(const DesignSpace& space) {
  for (const Sketch& sketch : space.sketches) {
    OfSketch& of = sketches_.emplace_back();
    for (size_t slot = 0; slot < sketch.slots.size(); ++slot) {
      of.slots.push_back(neighbours_of(sketch.slots[slot]));
      if (sketch.slots[slot].choices.size() > 1) of.open.push_back(slot);
    }
  }
}

Candidate Neighbourhood::mutate(const Candidate& parent, Random& random) const {
  Candidate child = parent;
  const OfSketch& sketch = sketches_[static_cast<size_t>(parent.sketch)];
  if (sketch.open.empty()) return child;
  const uint64_t changes = 1 + below(random, 2);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t slot = sketch.open[below(random, sketch.open.size())];
    const OfChoice& choices = sketch.slots[slot];
    uint32_t& choice = child.point[slot];
    const std::vector<uint32_t>& near = choices[choice];
    choice = below(random, 2) == 0 && !near.empty() ? near[below(random, near.size())]
                                                    : static_cast<uint32_t>(below(random, choices.size()));
  }
  return child;
}

}  // namespace tf::space
