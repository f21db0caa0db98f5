#pragma once
// Owns: the medians of which every figure here is made.

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace tf::replay {

// Of an even count the larger of the middle two: at least half of the values are no larger, also where some
// are infinite. Not of nothing.
inline double upper_median(std::vector<double> values) {
  TF_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of an even count the mean of the middle two. Not of nothing.
inline double median(std::vector<double> values) {
  TF_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace tf::replay
