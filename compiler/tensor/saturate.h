#pragma once
// Owns: turning a double into a whole number of some type, whatever the double is. Does not know:
// expressions.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compiler/tensor/type.h"

namespace tf::tensor {

// The value cut off behind the point; the nearest end of T's range where it lies beyond, 0 for NaN.
template <typename T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// As 64 bits of an integer element that is not bool: the nearest of its values, 0 for NaN.
inline int64_t saturated(Element element, double value) {
  if (element == Element::kUInt64) return static_cast<int64_t>(saturate<uint64_t>(value));
  return std::clamp(saturate<int64_t>(value), lowest_integer(element), highest_integer(element));
}

}  // namespace tf::tensor
