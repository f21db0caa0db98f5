#include "compiler/graph/dynamic/polynomial.h"

#include <algorithm>
#include <cmath>

namespace tf::graph {
namespace {

using tensor::Expr;

using Product = Polynomial::Product;

std::vector<Product> products(size_t count, size_t degree) {
  std::vector<Product> all = {{}};
  for (size_t begin = 0, least = 0; least < degree; ++least) {
    const size_t end = all.size();
    for (size_t i = begin; i < end; ++i) {
      for (size_t v = all[i].empty() ? 0 : all[i].back(); v < count; ++v) {
        Product longer = all[i];
        longer.push_back(v);
        all.push_back(std::move(longer));
      }
    }
    begin = end;
  }
  return all;
}

long double value_of(const Product& product, std::span<const Variable> variables, size_t point) {
  long double value = 1;
  for (const size_t v : product) value *= static_cast<long double>(variables[v].at[point]);
  return value;
}

// The coefficients of the products, by least squares; the caller checks that they are exact.
std::optional<std::vector<long double>> solve(std::span<const Variable> variables,
                                              const std::vector<Product>& terms,
                                              std::span<const int64_t> values) {
  const size_t n = terms.size(), points = values.size();
  if (points <= n) return std::nullopt;
  std::vector<std::vector<long double>> at(n, std::vector<long double>(points));
  // Each product by its greatest value: the equations then have coefficients of one size.
  std::vector<long double> scale(n, 1);
  for (size_t i = 0; i < n; ++i) {
    for (size_t p = 0; p < points; ++p) {
      at[i][p] = value_of(terms[i], variables, p);
      scale[i] = std::max(scale[i], std::fabs(at[i][p]));
    }
    for (long double& each : at[i]) each /= scale[i];
  }
  std::vector<std::vector<long double>> rows(n, std::vector<long double>(n + 1, 0));
  for (size_t i = 0; i < n; ++i) {
    for (size_t p = 0; p < points; ++p) {
      for (size_t k = 0; k < n; ++k) rows[i][k] += at[i][p] * at[k][p];
      rows[i][n] += at[i][p] * static_cast<long double>(values[p]);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t k = i + 1; k < n; ++k)
      if (std::fabs(rows[k][i]) > std::fabs(rows[pivot][i])) pivot = k;
    if (std::fabs(rows[pivot][i]) < 1e-15L) return std::nullopt;
    std::swap(rows[i], rows[pivot]);
    for (size_t k = 0; k < n; ++k) {
      if (k == i) continue;
      const long double factor = rows[k][i] / rows[i][i];
      for (size_t j = i; j <= n; ++j) rows[k][j] -= factor * rows[i][j];
    }
  }
  std::vector<long double> coefficients(n);
  for (size_t i = 0; i < n; ++i) coefficients[i] = rows[i][n] / rows[i][i] / scale[i];
  return coefficients;
}

bool is_exact(std::span<const Variable> variables, const Polynomial& polynomial,
              std::span<const int64_t> values) {
  for (size_t p = 0; p < values.size(); ++p) {
    __extension__ __int128 sum = 0;
    for (size_t i = 0; i < polynomial.products.size(); ++i) {
      __extension__ __int128 product = polynomial.coefficients[i];
      for (const size_t v : polynomial.products[i]) product *= variables[v].at[p];
      sum += product;
    }
    if (sum != values[p]) return false;
  }
  return true;
}

}  // namespace

int64_t Polynomial::value(std::span<const int64_t> variables) const {
  int64_t sum = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    int64_t product = coefficients[i];
    for (const size_t v : products[i]) product *= variables[v];
    sum += product;
  }
  return sum;
}

Expr Polynomial::expr(std::span<const Variable> variables) const {
  Expr sum = tensor::imm(0);
  for (size_t i = products.size(); i-- > 0;) {
    if (coefficients[i] == 0) continue;
    Expr product = tensor::imm(coefficients[i]);
    for (const size_t v : products[i]) product = variables[v].expr * product;
    sum = sum + product;
  }
  return sum;
}

std::optional<Polynomial> polynomial(std::span<const Variable> variables, std::span<const int64_t> values,
                                     size_t degree) {
  Polynomial found{products(variables.size(), degree), {}};
  const auto solved = solve(variables, found.products, values);
  if (!solved) return std::nullopt;
  for (const long double each : *solved) {
    if (std::fabs(each) > 9e18L) return std::nullopt;
    found.coefficients.push_back(std::llround(each));
  }
  return is_exact(variables, found, values) ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace tf::graph
