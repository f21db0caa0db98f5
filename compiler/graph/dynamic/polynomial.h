#pragma once
// Owns: the polynomial of whole numbers that has given values. Does not know: what the numbers are.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/tensor/expr.h"

namespace tf::graph {

// A whole number as an expression, and its value at each of several points.
struct Variable {
  tensor::Expr expr;
  std::vector<int64_t> at;
};

// A sum of products of variables.
struct Polynomial {
  // By the numbers of the variables: {} is 1, {0, 0} the square of the first.
  using Product = std::vector<size_t>;
  std::vector<Product> products;
  std::vector<int64_t> coefficients;  // of each product

  int64_t value(std::span<const int64_t> variables) const;
  tensor::Expr expr(std::span<const Variable> variables) const;
};

// The polynomial of products of up to `degree` variables, with whole coefficients, that has these values; nothing if there
// is none, or the points are not more than its coefficients.
std::optional<Polynomial> polynomial(std::span<const Variable> variables, std::span<const int64_t> values,
                                     size_t degree);

}  // namespace tf::graph
