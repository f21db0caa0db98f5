#pragma once
// Owns: division of whole numbers that rounds up.

#include <cstdint>

namespace tf {

// How many steps cover the value: value / step, rounded up. value is at least 0, step at least 1, their sum
// in range.
constexpr int64_t ceil_div(int64_t value, int64_t step) {
  return (value + step - 1) / step;
}

}  // namespace tf
