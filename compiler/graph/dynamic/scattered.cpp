#include "compiler/graph/dynamic/scattered.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tf::graph {
namespace {

// A prime that, times the unit, is none of those taken.
int64_t next_prime(int64_t from, const std::vector<int64_t>& taken, int64_t unit) {
  while (!is_prime(from) || std::ranges::count(taken, from * unit) > 0) ++from;
  return from;
}

// Whole numbers below `count`, each once, in an order of the dimension's own.
std::vector<size_t> shuffled(size_t count, size_t dim) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  uint64_t state = dim + 1;
  for (size_t i = count; i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(all[i - 1], all[(state >> 33) % i]);
  }
  return all;
}

}  // namespace

Samples sample_scattered(const std::vector<NamedDimension>& dims, size_t more) {
  constexpr size_t kPoints = 18;
  constexpr int64_t kLeast = 2, kShort = 60, kBeyond = 200;
  Samples samples{dims, std::vector<std::vector<int64_t>>(kPoints + more)};
  samples.is_scattered = true;
  for (size_t d = 0; d < dims.size(); ++d) {
    const NamedDimension& dim = dims[d];
    const int64_t unit = dim.multiple_of, high = dim.high / unit < kShort ? kBeyond : dim.high / unit;
    const auto least = static_cast<double>(std::clamp(dim.low / unit, kLeast, high / 2));
    const std::vector<size_t> order = shuffled(kPoints, d), further = shuffled(kPoints, dims.size() + d);
    for (size_t p = 0; p < samples.points.size(); ++p) {
      if (p == 1 && dim.high / unit >= kShort) {
        samples.points[p].push_back(dim.high);
        continue;
      }
      const size_t place = p == 0 ? kPoints - 1 : p < kPoints ? order[p] : further[p % kPoints];
      const double share = (static_cast<double>(place) + 0.5) / kPoints;
      const double size = least * std::pow(0.98 * static_cast<double>(high) / least, share);
      samples.points[p].push_back(unit * next_prime(static_cast<int64_t>(size), samples.points[p], unit));
    }
  }
  return samples;
}

}  // namespace tf::graph
