#pragma once
// Owns: the dimensions of a network that is built for a range of sizes. Does not know: who binds them.

#include "compiler/tensor/workload.h"

namespace tf::graph {

// A named dimension whose values are the multiples of a number within its range; both ends are multiples.
struct NamedDimension : tensor::Dimension {
  int64_t multiple_of = 1;
};

}  // namespace tf::graph
