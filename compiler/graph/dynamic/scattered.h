#pragma once
// Owns: the sizes at which a network that finds sizes in a run is planned. Does not know: networks.

#include "compiler/graph/dynamic/samples.h"

namespace tf::graph {

// The base, near the greatest values, and points at which all dimensions differ from it: primes, of each order of magnitude
// as many, all different at one point; and the greatest values, which no limit may be beyond. A short range is sampled beyond its end. `more` points are behind
// the others.
Samples sample_scattered(const std::vector<NamedDimension>& dims, size_t more = 0);

}  // namespace tf::graph
