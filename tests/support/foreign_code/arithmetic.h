#pragma once
// Owns: what there is to divide and convert that armv7 has no instructions for, written once for that
// processor and for this one, whose results must be the same. Does not know: who compares them.

#include <stdint.h>

namespace tf::support {

// Without holes, and alike on both processors: it is handed over as bytes.
struct Arithmetic {
  uint64_t quotient_u64, remainder_u64;
  int64_t quotient_s64, remainder_s64;
  double rounded;
  uint32_t quotient_u32, remainder_u32;
  int32_t quotient_s32, remainder_s32;
  bool operator==(const Arithmetic&) const = default;
};

// A divisor that is 0, or with which a quotient would overflow, counts as 1.
inline Arithmetic arithmetic_of(int64_t dividend, int64_t divisor) {
  const auto u64 = static_cast<uint64_t>(dividend);
  const uint64_t by_u64 = divisor == 0 ? 1 : static_cast<uint64_t>(divisor);
  const int64_t by_s64 = divisor == 0 || (divisor == -1 && dividend == INT64_MIN) ? 1 : divisor;
  const auto u32 = static_cast<uint32_t>(u64);
  const auto s32 = static_cast<int32_t>(u32);
  const auto low = static_cast<uint32_t>(by_u64);
  const uint32_t by_u32 = low == 0 ? 1 : low;
  const auto signed_low = static_cast<int32_t>(by_u32);
  const int32_t by_s32 = signed_low == -1 && s32 <= INT32_MIN + 1 ? 1 : signed_low;
  // The 32-bit ones of different dividends: quotient and remainder of the same are one call.
  return {.quotient_u64 = u64 / by_u64,
          .remainder_u64 = u64 % by_u64,
          .quotient_s64 = dividend / by_s64,
          .remainder_s64 = dividend % by_s64,
          .rounded = static_cast<double>(dividend),
          .quotient_u32 = u32 / by_u32,
          .remainder_u32 = (u32 ^ 1) % by_u32,
          .quotient_s32 = s32 / by_s32,
          .remainder_s32 = (s32 ^ 1) % by_s32};
}

}  // namespace tf::support
