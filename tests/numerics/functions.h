#pragma once
// Owns: the table of element-wise functions that networks have, each as a one-node ONNX model, with its exact
// value and the error that it may have. Does not know: how a function is computed here.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace tf::test {

using tensor::Element;

// Long double has 11 bits more than f64 on x86-64, so that it tells the errors of f64 too.
using Real = long double;

struct ElementFunction {
  std::string name;       // unique
  std::string operation;  // ONNX's
  int operands = 1;
  std::vector<std::pair<std::string, float>> floats;  // attributes
  std::string approximate;                            // attribute, if not empty
  bool is_fmod = false;                               // attribute of Mod
  std::optional<float> constant = std::nullopt;       // a second operand that the network holds
  std::function<Real(Real, Real)> exact;
  // Units in the last place that the result may be off by.
  double ulps = 4;
  // The largest term of the function's own formula, of which the result may be off by one unit instead; null:
  // it does not cancel.
  std::function<Real(Real, Real)> largest_term = nullptr;
  // Whether a zero has the sign that C gives it. Of max and min it is open.
  bool has_zero_sign = true;
  // f64 only: more units than above, for functions of which 1e-14 is what is wanted.
  double ulps_f64 = 4;
};

const std::vector<ElementFunction>& element_functions();

// The function of `count` elements, as a network.
absl::StatusOr<graph::Graph> network_of(const ElementFunction& function, Element element, int64_t count);

}  // namespace tf::test
