#pragma once
// Owns: division of whole numbers that rounds up or down, where C++'s rounds towards zero.

#include <cstdint>

namespace tf {

// How many steps cover the value: value / step, rounded up. value is at least 0, step at least 1, their sum
// in range.
constexpr int64_t ceil_div(int64_t value, int64_t step) {
  return (value + step - 1) / step;
}

// The least multiple of step that is not below the value; as ceil_div.
constexpr int64_t round_up(int64_t value, int64_t step) {
  return ceil_div(value, step) * step;
}

// value / divisor rounded down, and what that leaves, which has the divisor's sign. The divisor is not 0, the
// quotient in range.
constexpr int64_t floor_quotient(int64_t value, int64_t divisor) {
  const int64_t towards_zero = value / divisor;
  return value % divisor != 0 && (value < 0) != (divisor < 0) ? towards_zero - 1 : towards_zero;
}
constexpr int64_t floor_remainder(int64_t value, int64_t divisor) {
  return value - floor_quotient(value, divisor) * divisor;
}

}  // namespace tf
