#pragma once
// Owns: the greatest values of a workload's dimensions. Does not know: why they are asked for.

#include <ranges>

#include "compiler/tensor/workload.h"

namespace tf::tensor {

// Of dimensions, or what derives from them.
Binding greatest_sizes(const std::ranges::range auto& dims) {
  Binding binding;
  for (const Dimension& dim : dims) binding[dim.var->name] = dim.high;
  return binding;
}

}  // namespace tf::tensor
