#pragma once
// Owns: turning a double into a whole number of some type, whatever the double is. Does not know:
// expressions.

#include <cmath>
#include <limits>

namespace tf::tensor {

// The value cut off behind the point; the nearest end of T's range where it lies beyond, 0 for NaN.
template <typename T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace tf::tensor
