#pragma once
// Owns: random conditions on random numbers, with which tests try the simplifier. Does not know: what numbers
// there are.

#include <cstdint>

#include "compiler/tensor/expr.h"

namespace tf::analysis {

// Comparisons, joined or negated at most `depth` times. pick(n) is one of 0 to n - 1, number(depth) any
// number that is no deeper, limit() what numbers are compared with half of the time.
template <typename Pick, typename Number, typename Limit>
tensor::Expr random_condition(int depth, const Pick& pick, const Number& number, const Limit& limit) {
  if (depth > 0 && pick(3) == 0) {
    const tensor::Expr a = random_condition(depth - 1, pick, number, limit);
    const tensor::Expr b = random_condition(depth - 1, pick, number, limit);
    if (pick(3) == 0) return tensor::logical_not(a);
    return pick(2) == 0 ? tensor::logical_and(a, b) : tensor::logical_or(a, b);
  }
  const tensor::Expr a = number(depth);
  const tensor::Expr b = pick(2) == 0 ? limit() : number(depth);
  switch (pick(4)) {
    case 0:
      return a <= b;
    case 1:
      return tensor::equal(a, b);
    case 2:
      return tensor::not_equal(a, b);
    default:
      return a < b;
  }
}

}  // namespace tf::analysis
