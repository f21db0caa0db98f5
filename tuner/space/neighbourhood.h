#pragma once
// Owns: which choices of a parameter are neighbours, found once a space, and varying points by it. Pure
// functions of a seeded generator.

#include <vector>

#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::space {

// Thread-safe: const after construction.
class Neighbourhood {
 public:
  explicit Neighbourhood(const DesignSpace& space);

  // One or two parameters changed; a parameter moves to a neighbouring choice as often as to any other. A
  // sketch with a single point gives that point.
  Candidate mutate(const Candidate& parent, Random& random) const;

  // The choices of a parameter next to `choice`: the next smaller and larger ones of each part with all other
  // parts alike, and those next to it among the choices with the same product (a factor moved between parts).
  const std::vector<uint32_t>& of(size_t sketch, size_t parameter, uint32_t choice) const {
    return sketches_[sketch].parameters[parameter][choice];
  }

 private:
  using OfChoice = std::vector<std::vector<uint32_t>>;  // of each choice of a parameter, its neighbours
  struct OfSketch {
    std::vector<OfChoice> parameters;
    std::vector<size_t> open;  // parameters with more than one choice
  };
  std::vector<OfSketch> sketches_;
};

}  // namespace tf::space
