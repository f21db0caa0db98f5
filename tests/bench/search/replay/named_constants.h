#pragma once
// Owns: the roofline model's constants under their names, so that they can be fitted anew and printed. Does not know: what
// they mean.

#include <span>
#include <string_view>

#include "tuner/model/roofline/roofline_constants.h"

namespace tf::replay {

struct NamedConstant {
  std::string_view name;
  double& (*of)(model::RooflineConstants&);
};
// All of them.
std::span<const NamedConstant> roofline_constants();

}  // namespace tf::replay
