#include "compiler/frontends/onnx/rules/signal/fourier.h"

#include <cmath>
#include <numbers>

namespace tf::onnx {
namespace {

using tensor::Expr;

// Up to this a product with a matrix is about as fast as any split.
constexpr int64_t kLongestProduct = 64;
// A matrix of more would be over 2 GiB.
constexpr int64_t kLongestPrime = 8192;

struct Turn {
  double cos, sin;
};
// exp(-2 pi i * step / n), with the other sign if inverse.
Turn turn(int64_t step, int64_t n, bool inverse) {
  // Quarters have no rounding.
  if (4 * (step % n) % n == 0) {
    constexpr double kCos[] = {1, 0, -1, 0}, kSin[] = {0, 1, 0, -1};
    const int64_t quarter = 4 * (step % n) / n;
    return {kCos[quarter], inverse ? kSin[quarter] : -kSin[quarter]};
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(step % n) / static_cast<double>(n);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

// The divisor of n nearest to its root from below; 1 of a prime.
int64_t factor_of(int64_t n) {
  auto factor = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % factor != 0) --factor;
  return factor;
}

Complex by_product(const Complex& x, int64_t n, bool inverse) {
  Formula& f = x.real.formula();
  const int64_t parts = x.imaginary ? 2 : 1;
  // [real, imaginary] times [[cos, sin], [-sin, cos]].
  std::vector<double> values(static_cast<size_t>(parts * n * 2 * n));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < n; ++k) {
      const Turn t = turn(j * k, n, inverse);
      const auto at = [&](int64_t part, int64_t of) -> double& {
        return values[static_cast<size_t>((part * n + j) * 2 * n + of * n + k)];
      };
      at(0, 0) = t.cos;
      at(0, 1) = t.sin;
      if (parts == 1) continue;
      at(1, 0) = -t.sin;
      at(1, 1) = t.cos;
    }
  }
  const Term rows = x.imaginary ? concat(std::vector<Term>{x.real, *x.imaginary}, 1) : x.real;
  const Term y = matmul(rows, f.floats({parts * n, 2 * n}, values, rows.element()));
  return {slice(y, 1, 0, n), slice(y, 1, n, n)};
}

// x [rows, p * q] seen as [rows, p, q], the last two axes exchanged, as [rows, q * p].
Term exchanged(const Term& x, const Expr& rows, int64_t p, int64_t q) {
  const Term cube = reshape(x, std::vector<Expr>{rows, tensor::imm(p), tensor::imm(q)});
  return reshape(transpose(cube, {0, 2, 1}), std::vector<Expr>{rows, tensor::imm(q * p)});
}

Complex unscaled(const Complex& x, int64_t n, bool inverse);

// With j = b * j1 + j2 and k = k1 + a * k2: transforms over j1, turns by j2 * k1, transforms over j2.
Complex by_factors(const Complex& x, int64_t a, int64_t b, bool inverse) {
  Formula& f = x.real.formula();
  if (!f.ok()) return {x.real, x.real};
  const Expr rows = x.real.extents()[0];
  const auto each = [](const Complex& c, auto&& change) {
    return Complex{change(c.real), c.imaginary ? std::optional(change(*c.imaginary)) : std::nullopt};
  };
  const auto shaped = [](const Term& x0, const Expr& first, int64_t second) {
    return reshape(x0, std::vector<Expr>{first, tensor::imm(second)});
  };
  Complex y = each(x, [&](const Term& part) { return shaped(exchanged(part, rows, a, b), rows * b, a); });
  y = unscaled(y, a, inverse);
  std::vector<double> cosines, sines;
  for (int64_t j2 = 0; j2 < b; ++j2) {
    for (int64_t k1 = 0; k1 < a; ++k1) {
      const Turn t = turn(j2 * k1, a * b, inverse);
      cosines.push_back(t.cos);
      sines.push_back(t.sin);
    }
  }
  y = each(y, [&](const Term& part) { return shaped(part, rows, a * b); });
  const Term cosine = f.floats({1, a * b}, cosines, y.real.element());
  const Term sine = f.floats({1, a * b}, sines, y.real.element());
  const Term real = y.real * cosine - *y.imaginary * sine, imaginary = y.real * sine + *y.imaginary * cosine;
  y = each({real, imaginary},
           [&](const Term& part) { return shaped(exchanged(part, rows, b, a), rows * a, b); });
  y = unscaled(y, b, inverse);
  return each(y, [&](const Term& part) { return exchanged(shaped(part, rows, a * b), rows, a, b); });
}

Complex unscaled(const Complex& x, int64_t n, bool inverse) {
  const int64_t factor = factor_of(n);
  if (n > kLongestProduct && factor > 1) return by_factors(x, factor, n / factor, inverse);
  if (n > kLongestPrime) {
    const Term failed =
        x.real.formula().unsupported("a transform of a length with a large prime factor is not supported");
    return {failed, failed};
  }
  return by_product(x, n, inverse);
}

}  // namespace

Complex fourier(const Complex& x, int64_t n, bool inverse) {
  Complex y = unscaled(x, n, inverse);
  if (!inverse) return y;
  const double scale = 1.0 / static_cast<double>(n);
  return {y.real * scale, *y.imaginary * scale};
}

}  // namespace tf::onnx
