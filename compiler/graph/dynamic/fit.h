#pragma once
// Owns: finding the expression of a network's sizes that a whole number is, from its values at several sizes. Does not
// know: whose number it is.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "compiler/graph/dynamic/samples.h"

namespace tf::graph {

// Remembers what it found. Not thread-safe.
class Fitter {
 public:
  explicit Fitter(Samples samples) : samples_(std::move(samples)) {}

  const Samples& samples() const { return samples_; }

  // The expression over the dimensions that has values[p] at point p of all; nothing if there is none of the forms that
  // sizes have: sums of products of dimensions, up to three in one, with whole coefficients; where the samples have runs,
  // also of a quotient floor((dimension + c) / s), with 0 <= c < s <= kGreatestDivisor, for each dimension.
  std::optional<tensor::Expr> fit(std::span<const int64_t> values);

  // Points that would tell apart several quotients which had the values of a number so far. While there are some, what is
  // found may be wrong.
  const std::set<std::vector<int64_t>>& questions() const { return questions_; }

 private:
  struct Quotient;
  struct Slice;
  Slice slice(size_t d, std::span<const int64_t> values) const;
  std::optional<tensor::Expr> find(std::span<const int64_t> values);
  std::optional<tensor::Expr> find_quotients(const std::vector<size_t>& dims,
                                             std::span<const int64_t> values);
  std::optional<Quotient> quotient_of(size_t d, const Slice& slice);
  void ask(size_t d, std::span<const Quotient> quotients);

  const Samples samples_;
  std::map<std::vector<int64_t>, std::optional<tensor::Expr>> known_;
  std::set<std::vector<int64_t>> questions_;
};

}  // namespace tf::graph
