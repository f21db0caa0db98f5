#pragma once
// Owns: the one representation of design spaces. A Sketch is a list of schedule steps in which some sizes are
// open; each open size is an element of a parameter, and a parameter has a finite list of choices.
// Hand-written templates and generated sketches both end as this value. Does not know: measuring, cost
// models, strategies.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::space {

// One decision. Every choice gives a value to each part of the parameter: a tile parameter's parts are the
// inner factors of a split, outermost first; a scalar parameter has one part.
struct Parameter {
  std::string name;
  std::vector<std::vector<int64_t>> choices;  // not empty; all of one size
};

// The choice taken in each parameter.
using Point = std::vector<uint32_t>;

struct Sketch {
  std::string family;  // where it comes from: "template conv2d", "generated tile-reduction", …
  std::shared_ptr<const tensor::Workload> workload;  // bound
  std::vector<Parameter> parameters;
  schedule::Schedule steps;  // open sizes refer to `parameters`
  std::vector<Point> seeds;  // where a search does well to start: the default schedule's choices

  // Number of points, as a double because it overflows integers.
  double size() const;
  // SHA-256 of steps and parameters (seeds do not count): two sketches with one hash offer the same points in
  // the same order.
  Digest hash() const;
};

// The sketch's schedule at a point. The point must have one valid choice for each parameter.
schedule::Schedule instantiate(const Sketch& sketch, const Point& point);

// The point that a record names by the numbers of its choices; nothing if the sketch has no such point.
std::optional<Point> point_of(const Sketch& sketch, std::span<const int64_t> choices);

// What the sketch's open sizes can be, for the state of its steps before any choice.
schedule::OpenSizes open_sizes(const Sketch& sketch);

// The point's text, "3,0,17", as records store it.
std::string to_string(const Point& point);

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

}  // namespace tf::space
