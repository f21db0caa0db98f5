#pragma once
// Owns: the sizes at which a network is planned to find what it is at all sizes. Does not know: networks.

#include <cstdint>
#include <vector>

#include "compiler/graph/program/named_dimension.h"

namespace tf::graph {

// Values of named dimensions: a point has one for each. The first point is the base; every dimension is varied alone
// around it in some points, and with others in further ones.
struct Samples {
  std::vector<NamedDimension> dims;
  std::vector<std::vector<int64_t>> points;
  bool has_runs = false;      // each dimension has a run of consecutive values
  bool is_scattered = false;  // all dimensions vary together: sample_scattered

  tensor::Binding binding(size_t point) const;
};

bool is_prime(int64_t n);

// Points of primes, and small multiples of primes, near the greatest values, so that no two numbers of a network agree
// there by chance; of a dimension of multiples, as many times the multiple. A short range is sampled outside of itself
// too, but beyond its end only where that is under 30.
Samples sample(const std::vector<NamedDimension>& dims);

// Quotients by more than this are not found.
inline constexpr int64_t kGreatestDivisor = 64;

// Those of `sample`, and runs of consecutive values, which show where quotients of the dimensions change.
Samples sample_runs(const std::vector<NamedDimension>& dims);

// The same points, with a dimension of multiples counted in those: the values of `height`, multiples of 32, become those of
// a dimension `height/32`.
Samples in_multiples(const Samples& samples);

}  // namespace tf::graph
