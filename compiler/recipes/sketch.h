#pragma once
// Owns: sketches, the one representation of design spaces. A Sketch is a list of schedule steps in which some sizes are
// open; each open size is an element of a parameter, and a parameter has a finite list of choices, one of which is the
// default. Does not know: how sketches are made, measured or searched.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "compiler/recipes/steps.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

// The values that a choice gives to the parts of its parameter. A tile parameter's parts are the inner factors of a
// split, outermost first; a scalar parameter has one part.
using Choice = std::vector<int64_t>;

// One decision.
struct Parameter {
  std::string name;
  std::vector<Choice> choices;  // not empty; all of one size
  uint32_t default_choice = 0;
};

// The choice taken in each parameter.
using Point = std::vector<uint32_t>;

struct Sketch {
  std::string family;  // where it comes from: "template conv2d", "generated rows", …
  std::shared_ptr<const tensor::Workload> workload;  // bound
  std::vector<Parameter> parameters;
  schedule::Schedule steps;  // open sizes refer to `parameters`

  Sketch(std::string family, const tensor::KernelSpec& kernel);

  // Adds a parameter and gives its parts as open sizes. The default is added to its choices if it is not among them.
  std::vector<Size> open(Parameter parameter, const Choice& default_choice);
  // The same of one part.
  Size open(std::string name, const std::vector<int64_t>& values, int64_t default_value);

  Point default_point() const;
  // Number of points, as a double because it overflows integers.
  double size() const;
  // SHA-256 of steps and parameters (defaults do not count): two sketches with one hash offer the same points in
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

}  // namespace tf::recipes
