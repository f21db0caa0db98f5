#pragma once
// Owns: the numbers of a network with many dimensions, as expressions over these. Does not know: networks.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/dynamic/samples.h"

namespace tf::graph {

// Sizes that a run finds are many, and most numbers depend on few of them through others: an extent of a result follows from
// those of the operands. So a number is looked for among those that are known, and near those that it follows from.
class Numbers {
 public:
  // Knows the dimensions.
  explicit Numbers(const Samples& samples);

  // The expression that has these values at the points: one that is known, or, of those nearby, a polynomial of up to three,
  // a quotient, or a sum of up to two that is at most, or at least, a limit, as in min(found, 100); else a multiple of any, or a sum of
  // few dimensions. What is found is known from now on.
  std::optional<tensor::Expr> find(const std::vector<int64_t>& values, std::span<const tensor::Expr> nearby);
  // Only one that is known.
  std::optional<tensor::Expr> known(const std::vector<int64_t>& values) const;
  // From now on the expression is known, unless one that is equal is.
  void add(const tensor::Expr& expr);
  std::vector<int64_t> values_of(const tensor::Expr& expr) const;

 private:
  std::optional<tensor::Expr> search(const std::vector<int64_t>& values,
                                     std::span<const tensor::Expr> nearby) const;

  const Samples& samples_;
  std::map<std::vector<int64_t>, tensor::Expr> known_;
};

}  // namespace tf::graph
