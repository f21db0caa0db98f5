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
void join_lines(const Parameter& parameter, KeyOf&& key_of, std::vector<std::vector<uint32_t>>& neighbours) {
  std::map<Choice, std::map<Choice, uint32_t>> lines;
  for (uint32_t i = 0; i < parameter.choices.size(); ++i)
    lines[key_of(parameter.choices[i])][parameter.choices[i]] = i;
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

std::vector<std::vector<uint32_t>> neighbours_of(const Parameter& parameter) {
  std::vector<std::vector<uint32_t>> neighbours(parameter.choices.size());
  const size_t parts = parameter.choices.front().size();
  for (size_t part = 0; part < parts; ++part) {
    auto others = [part](Choice choice) {
      choice.erase(choice.begin() + static_cast<std::ptrdiff_t>(part));
      return choice;
    };
    join_lines(parameter, others, neighbours);
  }
  if (parts > 1)
    join_lines(
        parameter, [](const Choice& choice) { return Choice{product(choice)}; }, neighbours);
  return neighbours;
}

}  // namespace

Neighbourhood::Neighbourhood(const DesignSpace& space) {
  for (const Sketch& sketch : space.sketches) {
    OfSketch& of = sketches_.emplace_back();
    for (size_t parameter = 0; parameter < sketch.parameters.size(); ++parameter) {
      of.parameters.push_back(neighbours_of(sketch.parameters[parameter]));
      if (sketch.parameters[parameter].choices.size() > 1) of.open.push_back(parameter);
    }
  }
}

Candidate Neighbourhood::mutate(const Candidate& parent, Random& random) const {
  Candidate child = parent;
  const OfSketch& sketch = sketches_[static_cast<size_t>(parent.sketch)];
  if (sketch.open.empty()) return child;
  const uint64_t changes = 1 + below(random, 2);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t parameter = sketch.open[below(random, sketch.open.size())];
    const OfChoice& choices = sketch.parameters[parameter];
    uint32_t& choice = child.point[parameter];
    const std::vector<uint32_t>& near = choices[choice];
    choice = below(random, 2) == 0 && !near.empty() ? near[below(random, near.size())]
                                                    : static_cast<uint32_t>(below(random, choices.size()));
  }
  return child;
}

}  // namespace tf::space
