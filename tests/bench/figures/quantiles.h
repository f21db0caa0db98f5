#pragma once
// Owns: what is told of many values of one kind. Does not know: what they measure.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace tf::bench {

// Of sorted values; 0 if there are none.
inline double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

inline nlohmann::ordered_json quantiles(std::vector<double> values) {
  std::ranges::sort(values);
  return {{"p50", percentile(values, 0.5)},
          {"p99", percentile(values, 0.99)},
          {"max", values.empty() ? 0 : values.back()}};
}

}  // namespace tf::bench
