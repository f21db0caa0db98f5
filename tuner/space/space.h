#pragma once
// Owns: design spaces of kernels as the search sees them: candidates, which are points of sketches. Does not know: how
// sketches are made, measuring, cost models, strategies.

#include <compare>
#include <utility>
#include <vector>

#include "compiler/recipes/sketch.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::space {

using recipes::Choice;
using recipes::Parameter;
using recipes::Point;
using recipes::Sketch;

// A candidate of a task: a point in one of its sketches.
struct Candidate {
  int sketch = 0;
  Point point;
  auto operator<=>(const Candidate&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Candidate& c) {
    return H::combine(std::move(h), c.sketch, c.point);
  }
};

// All ways of one computation on one target.
struct DesignSpace {
  std::vector<Sketch> sketches;  // not empty
  tensor::PortLayouts ports;     // of activations and outputs
  double size() const;
  schedule::Schedule schedule_of(const Candidate& candidate) const;
};

// The sketches of all recipes for a kernel, whose workload must be bound. The compiler's default schedule is the default
// point of the first sketch.
DesignSpace generate_space(const tensor::KernelSpec& kernel);

}  // namespace tf::space
