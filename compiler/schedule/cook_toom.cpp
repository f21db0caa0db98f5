#include "compiler/schedule/cook_toom.h"

#include "base/check.h"

namespace tf::schedule {
namespace {

constexpr double kPoints[] = {0, 1, -1, 2, -2, 0.5, -0.5};

// Coefficients, lowest first, of the product of (x - p) over the first `count` points but number `without`.
std::vector<double> product(int64_t count, int64_t without) {
  std::vector<double> coefficients = {1};
  for (int64_t i = 0; i < count; ++i) {
    if (i == without) continue;
    coefficients.push_back(0);
    for (size_t k = coefficients.size(); k-- > 0;)
      coefficients[k] = (k > 0 ? coefficients[k - 1] : 0) - kPoints[i] * coefficients[k];
  }
  return coefficients;
}

double evaluate(const std::vector<double>& coefficients, double x) {
  double value = 0;
  for (size_t k = coefficients.size(); k-- > 0;) value = value * x + coefficients[k];
  return value;
}

}  // namespace

CookToom cook_toom(int64_t outputs, int64_t taps) {
  const int64_t points = outputs + taps - 1, finite = points - 1;
  TF_CHECK(outputs >= 1 && taps >= 1 && points % 2 == 0 && points <= kMaxPoints) << outputs << " by " << taps;
  CookToom c{outputs, taps, points, {}, {}, {}};
  for (int64_t i = 0; i < points; ++i) {
    // Lagrange's polynomial of point i, without its denominator, which goes to the filter. At infinity: of
    // all.
    std::vector<double> row = product(finite, i);
    const double denominator = i < finite ? evaluate(row, kPoints[i]) : 1;
    row.resize(static_cast<size_t>(points), 0);
    c.input.insert(c.input.end(), row.begin(), row.end());
    double power = 1;
    for (int64_t j = 0; j < taps; ++j) {
      c.filter.push_back(i < finite ? power / denominator : j == taps - 1 ? 1 : 0);
      power *= i < finite ? kPoints[i] : 1;
    }
  }
  std::vector<double> powers(static_cast<size_t>(finite), 1);
  for (int64_t k = 0; k < outputs; ++k) {
    for (int64_t i = 0; i < finite; ++i) {
      c.output.push_back(powers[static_cast<size_t>(i)]);
      powers[static_cast<size_t>(i)] *= kPoints[i];
    }
    c.output.push_back(k == outputs - 1 ? 1 : 0);
  }
  return c;
}

}  // namespace tf::schedule
