#include "compiler/graph/dynamic/samples.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tf::graph {
bool is_prime(int64_t n) {
  if (n < 2) return false;
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

namespace {

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

Samples sample(const std::vector<NamedDimension>& dims) {
  constexpr size_t kVaried = 4;  // values of a dimension besides the base: as many as a cubic needs, and one
  // Multiples of small numbers among them: a network may do something else at every second size.
  constexpr int64_t kFactors[kVaried + 1] = {1, 2, 1, 4, 3};
  constexpr int64_t kLeastSpread = 30;
  Samples samples{dims, {{}}};
  std::vector<int64_t> taken;
  std::vector<std::vector<int64_t>> values;  // of each dimension, the base first
  for (const NamedDimension& dim : dims) {
    std::vector<int64_t>& of_dim = values.emplace_back();
    const int64_t unit = dim.multiple_of;
    for (size_t i = 0; i <= kVaried; ++i) {
      const int64_t high = std::max(dim.high / unit, kLeastSpread),
                    spread = std::max(high - dim.low / unit, kLeastSpread);
      const int64_t from = high - static_cast<int64_t>(i) * spread / 16;
      of_dim.push_back(unit * kFactors[i] * prime_below(from / kFactors[i], taken));
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

Samples sample_runs(const std::vector<NamedDimension>& dims) {
  constexpr int64_t kRun = 34, kLeastHigh = 2 * kRun;
  Samples samples = sample(dims);
  samples.has_runs = true;
  const std::vector<int64_t> base = samples.points[0];
  std::vector<int64_t> high;
  for (const NamedDimension& dim : dims) high.push_back(std::max(dim.high / dim.multiple_of, kLeastHigh));
  const auto add = [&](const std::vector<int64_t>& point) {
    if (std::ranges::find(samples.points, point) == samples.points.end()) samples.points.push_back(point);
  };
  const auto add_alone = [&](size_t d, int64_t distance) {
    std::vector<int64_t> point = base;
    point[d] = (high[d] - distance) * dims[d].multiple_of;
    add(point);
  };
  for (size_t d = 0; d < dims.size(); ++d) {
    for (int64_t distance = 0; distance < kRun; ++distance) add_alone(d, distance);
    // And over the range, so that a quotient has several values.
    constexpr int64_t kParts = 8;
    const int64_t range = high[d] - dims[d].low / dims[d].multiple_of;
    for (int64_t i = 1; i < kParts; ++i) add_alone(d, range * i / kParts);
  }
  // All together, at several remainders.
  for (int64_t i = 1; dims.size() > 1 && i <= 6; ++i) {
    std::vector<int64_t> point;
    for (size_t d = 0; d < dims.size(); ++d)
      point.push_back((high[d] - i * static_cast<int64_t>(2 * d + 3)) * dims[d].multiple_of);
    add(point);
  }
  return samples;
}

Samples in_multiples(const Samples& samples) {
  Samples counted = samples;
  for (size_t d = 0; d < samples.dims.size(); ++d) {
    NamedDimension& dim = counted.dims[d];
    const int64_t unit = std::exchange(dim.multiple_of, 1);
    if (unit == 1) continue;
    dim.var = tensor::var(absl::StrCat(dim.var->name, "/", unit));
    dim.low /= unit;
    dim.high /= unit;
    for (std::vector<int64_t>& point : counted.points) point[d] /= unit;
  }
  return counted;
}

}  // namespace tf::graph
