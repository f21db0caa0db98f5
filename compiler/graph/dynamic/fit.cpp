#include "compiler/graph/dynamic/fit.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tf::graph {
namespace {

using tensor::Expr;

// A product of dimensions, by their numbers: {} is 1, {0, 0} the square of the first.
using Product = std::vector<size_t>;

// The dimensions on which the values depend: those that change them when they are varied alone.
std::vector<size_t> varied(const Samples& samples, std::span<const int64_t> values) {
  std::vector<size_t> found;
  const std::vector<int64_t>& base = samples.points[0];
  for (size_t d = 0; d < base.size(); ++d) {
    for (size_t p = 1; p < samples.points.size(); ++p) {
      std::vector<int64_t> point = samples.points[p];
      if (point[d] == base[d] || values[p] == values[0]) continue;
      point[d] = base[d];
      if (point != base) continue;
      found.push_back(d);
      break;
    }
  }
  return found;
}

std::vector<Product> products(const std::vector<size_t>& dims, size_t most) {
  std::vector<Product> all = {{}};
  for (size_t begin = 0, degree = 0; degree < most; ++degree) {
    const size_t end = all.size();
    for (size_t i = begin; i < end; ++i) {
      for (const size_t d : dims) {
        if (!all[i].empty() && d < all[i].back()) continue;
        Product longer = all[i];
        longer.push_back(d);
        all.push_back(std::move(longer));
      }
    }
    begin = end;
  }
  return all;
}

long double value_of(const Product& product, const std::vector<int64_t>& point) {
  long double value = 1;
  for (const size_t d : product) value *= static_cast<long double>(point[d]);
  return value;
}

// The coefficients of the products, by least squares; the caller checks that they are exact.
std::optional<std::vector<long double>> solve(const Samples& samples, const std::vector<Product>& terms,
                                              std::span<const int64_t> values) {
  const size_t n = terms.size();
  if (samples.points.size() <= n) return std::nullopt;
  // Each product by its greatest value: the equations then have coefficients of one size.
  std::vector<long double> scale(n, 1);
  for (size_t i = 0; i < n; ++i)
    for (const std::vector<int64_t>& point : samples.points)
      scale[i] = std::max(scale[i], value_of(terms[i], point));
  std::vector<std::vector<long double>> rows(n, std::vector<long double>(n + 1, 0));
  for (size_t p = 0; p < samples.points.size(); ++p) {
    for (size_t i = 0; i < n; ++i) {
      const long double left = value_of(terms[i], samples.points[p]) / scale[i];
      for (size_t k = 0; k < n; ++k) rows[i][k] += left * value_of(terms[k], samples.points[p]) / scale[k];
      rows[i][n] += left * static_cast<long double>(values[p]);
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

Expr sum_of(const Samples& samples, const std::vector<Product>& terms,
            const std::vector<int64_t>& coefficients) {
  Expr sum = tensor::imm(0);
  for (size_t i = terms.size(); i-- > 0;) {
    if (coefficients[i] == 0) continue;
    Expr product = tensor::imm(coefficients[i]);
    for (const size_t d : terms[i]) product = samples.dims[d].var * product;
    sum = sum + product;
  }
  return sum;
}

bool is_exact(const Samples& samples, std::span<const int64_t> values, const std::vector<Product>& terms,
              const std::vector<int64_t>& coefficients) {
  for (size_t p = 0; p < samples.points.size(); ++p) {
    __extension__ __int128 sum = 0;
    for (size_t i = 0; i < terms.size(); ++i) {
      __extension__ __int128 product = coefficients[i];
      for (const size_t d : terms[i]) product *= samples.points[p][d];
      sum += product;
    }
    if (sum != values[p]) return false;
  }
  return true;
}

bool is_prime(int64_t n) {
  if (n < 2) return false;
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

// Primes from `from` downwards, none of them taken.
int64_t prime_below(int64_t from, std::vector<int64_t>& taken) {
  int64_t n = from;
  while (n > 2 && (!is_prime(n) || std::ranges::count(taken, n) > 0)) --n;
  taken.push_back(n);
  return n;
}

}  // namespace

tensor::Binding Samples::binding(size_t point) const {
  tensor::Binding binding;
  for (size_t d = 0; d < dims.size(); ++d) binding[dims[d].var->name] = points[point][d];
  return binding;
}

Samples sample(const std::vector<tensor::Dimension>& dims) {
  constexpr size_t kVaried = 4;  // values of a dimension besides the base: as many as a cubic needs, and one
  // Multiples of small numbers among them: a network may do something else at every second size.
  constexpr int64_t kFactors[kVaried + 1] = {1, 2, 1, 4, 3};
  constexpr int64_t kLeastSpread = 30;
  Samples samples{dims, {{}}};
  std::vector<int64_t> taken;
  std::vector<std::vector<int64_t>> values;  // of each dimension, the base first
  for (const tensor::Dimension& dim : dims) {
    std::vector<int64_t>& of_dim = values.emplace_back();
    for (size_t i = 0; i <= kVaried; ++i) {
      const int64_t high = std::max(dim.high, kLeastSpread), spread = std::max(high - dim.low, kLeastSpread);
      const int64_t from = high - static_cast<int64_t>(i) * spread / 16;
      of_dim.push_back(kFactors[i] * prime_below(from / kFactors[i], taken));
    }
    samples.points[0].push_back(of_dim[0]);
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    for (size_t i = 1; i <= kVaried; ++i) {
      samples.points.push_back(samples.points[0]);
      samples.points.back()[d] = values[d][i];
    }
  }
  // Pairs of dimensions, and all at once.
  for (size_t a = 0; a < dims.size(); ++a) {
    for (size_t b = a + 1; b < dims.size(); ++b) {
      for (const auto& [i, k] : {std::pair<size_t, size_t>{1, 2}, {2, 1}, {3, 3}}) {
        samples.points.push_back(samples.points[0]);
        samples.points.back()[a] = values[a][i];
        samples.points.back()[b] = values[b][k];
      }
    }
  }
  for (size_t i = 1; dims.size() > 2 && i <= 3; ++i) {
    samples.points.push_back({});
    for (const std::vector<int64_t>& of_dim : values) samples.points.back().push_back(of_dim[i]);
  }
  return samples;
}

std::optional<Expr> fit(const Samples& samples, std::span<const int64_t> values) {
  TF_CHECK(values.size() == samples.points.size());
  if (std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; }))
    return tensor::imm(values[0]);
  const std::vector<size_t> dims = varied(samples, values);
  for (const size_t degree : {1, 2, 3}) {
    const std::vector<Product> terms = products(dims, degree);
    const auto solved = solve(samples, terms, values);
    if (!solved) break;
    std::vector<int64_t> coefficients;
    for (const long double each : *solved) coefficients.push_back(std::llround(each));
    if (is_exact(samples, values, terms, coefficients)) return sum_of(samples, terms, coefficients);
  }
  return std::nullopt;
}

}  // namespace tf::graph
