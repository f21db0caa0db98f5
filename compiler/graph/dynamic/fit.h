#pragma once
// Owns: finding the expression of a network's sizes that a whole number is, from its values at several sizes. Does not
// know: whose number it is.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/tensor/workload.h"

namespace tf::graph {

// Values of named dimensions: a point has one for each. The first point is the base; every dimension is varied alone
// around it in some points, and with others in further ones.
struct Samples {
  std::vector<tensor::Dimension> dims;
  std::vector<std::vector<int64_t>> points;

  tensor::Binding binding(size_t point) const;
};

// Points of primes, and small multiples of primes, near the greatest values, so that no two numbers of a network agree
// there by chance. A short range is sampled outside of itself too, but beyond its end only where that is under 30.
Samples sample(const std::vector<tensor::Dimension>& dims);

// The expression over the dimensions that has values[p] at point p of all; nothing if there is none of the forms that sizes
// have: sums of products of dimensions, up to three in one, with whole coefficients.
std::optional<tensor::Expr> fit(const Samples& samples, std::span<const int64_t> values);

}  // namespace tf::graph
