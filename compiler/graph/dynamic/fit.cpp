#include "compiler/graph/dynamic/fit.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compiler/graph/dynamic/polynomial.h"

namespace tf::graph {
namespace {

using tensor::Expr;

constexpr size_t kMostFactors = 3;

std::optional<Polynomial> simplest(std::span<const Variable> variables, std::span<const int64_t> values) {
  for (size_t degree = 1; degree <= kMostFactors; ++degree)
    if (std::optional<Polynomial> found = polynomial(variables, values, degree)) return found;
  return std::nullopt;
}

}  // namespace

// floor((dimension + shift) / divisor), and what a number is in terms of it.
struct Fitter::Quotient {
  int64_t shift = 0, divisor = 1;
  Polynomial number;

  int64_t at(int64_t size) const { return (size + shift) / divisor; }
  Expr expr(const Expr& dim) const { return divisor == 1 ? dim : tensor::floor_div(dim + shift, divisor); }
};

// The points at which only one dimension is not that of the base, in order of its value.
struct Fitter::Slice {
  std::vector<int64_t> at, values;

  bool varies() const {
    return std::ranges::any_of(values, [&](int64_t value) { return value != values[0]; });
  }
  // Whether the values change exactly where the quotient does, and that often enough for the polynomial to be known.
  bool changes_with(const Quotient& quotient) const {
    size_t changes = 0;
    for (size_t i = 1; i < at.size(); ++i) {
      const bool differs = quotient.at(at[i]) != quotient.at(at[i - 1]);
      if (differs != (values[i] != values[i - 1])) return false;
      changes += differs ? 1 : 0;
    }
    return changes >= kMostFactors + 1;
  }
};

Fitter::Slice Fitter::slice(size_t d, std::span<const int64_t> values) const {
  std::map<int64_t, int64_t> found;
  for (size_t p = 0; p < samples_.points.size(); ++p) {
    std::vector<int64_t> point = samples_.points[p];
    const int64_t here = std::exchange(point[d], samples_.points[0][d]);
    if (point == samples_.points[0]) found[here] = values[p];
  }
  Slice slice;
  for (const auto& [here, value] : found) {
    slice.at.push_back(here);
    slice.values.push_back(value);
  }
  return slice;
}

std::optional<Expr> Fitter::fit(std::span<const int64_t> values) {
  TF_CHECK(values.size() == samples_.points.size());
  if (std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; }))
    return tensor::imm(values[0]);
  const auto [known, is_new] = known_.try_emplace({values.begin(), values.end()});
  if (is_new) known->second = find(values);
  return known->second;
}

std::optional<Expr> Fitter::find(std::span<const int64_t> values) {
  std::vector<size_t> dims;
  std::vector<Variable> variables;
  for (size_t d = 0; d < samples_.dims.size(); ++d) {
    if (!slice(d, values).varies()) continue;
    dims.push_back(d);
    Variable& variable = variables.emplace_back(Variable{samples_.dims[d].var, {}});
    for (const std::vector<int64_t>& point : samples_.points) variable.at.push_back(point[d]);
  }
  if (const std::optional<Polynomial> found = simplest(variables, values)) return found->expr(variables);
  return samples_.has_runs ? find_quotients(dims, values) : std::nullopt;
}

std::optional<Expr> Fitter::find_quotients(const std::vector<size_t>& dims, std::span<const int64_t> values) {
  std::vector<Variable> variables;
  for (const size_t d : dims) {
    const std::optional<Quotient> quotient = quotient_of(d, slice(d, values));
    if (!quotient) return std::nullopt;
    Variable& variable = variables.emplace_back(Variable{quotient->expr(samples_.dims[d].var), {}});
    for (const std::vector<int64_t>& point : samples_.points) variable.at.push_back(quotient->at(point[d]));
  }
  const std::optional<Polynomial> found = simplest(variables, values);
  return found ? std::optional(found->expr(variables)) : std::nullopt;
}

// The quotient of the dimension in terms of which the values of the slice are a polynomial.
std::optional<Fitter::Quotient> Fitter::quotient_of(size_t d, const Slice& slice) {
  std::vector<Quotient> possible;
  for (int64_t divisor = 1; divisor <= kGreatestDivisor; ++divisor) {
    for (int64_t shift = 0; shift < divisor; ++shift) {
      Quotient quotient{shift, divisor, {}};
      if (!slice.changes_with(quotient)) continue;
      Variable variable{nullptr, {}};
      for (const int64_t at : slice.at) variable.at.push_back(quotient.at(at));
      std::optional<Polynomial> number = simplest({&variable, 1}, slice.values);
      if (!number) continue;
      quotient.number = *std::move(number);
      possible.push_back(std::move(quotient));
    }
  }
  if (possible.empty()) return std::nullopt;
  ask(d, possible);
  return possible[0];
}

// Asks for a size in the range at which the quotients give different numbers, as many of them as possible. Where they do
// not differ within the product of two divisors, they never do.
void Fitter::ask(size_t d, std::span<const Quotient> quotients) {
  if (quotients.size() < 2) return;
  const NamedDimension& dim = samples_.dims[d];
  const int64_t last = std::max(dim.low, dim.high - 2 * kGreatestDivisor * kGreatestDivisor);
  std::optional<int64_t> best;
  size_t most_alike = quotients.size();
  for (int64_t size = dim.high; size >= last; size -= dim.multiple_of) {
    std::map<int64_t, size_t> counts;
    size_t alike = 0;
    for (const Quotient& quotient : quotients) {
      const int64_t at = quotient.at(size);
      alike = std::max(alike, ++counts[quotient.number.value({&at, 1})]);
    }
    if (alike >= most_alike) continue;
    most_alike = alike;
    best = size;
    if (2 * alike <= quotients.size() + 1) break;
  }
  if (!best) return;
  std::vector<int64_t> point = samples_.points[0];
  point[d] = *best;
  questions_.insert(std::move(point));
}

}  // namespace tf::graph
