#pragma once
// Owns: a base-2 logarithm that compilers vectorise, the same bits on every machine. Does not know: formulas.

#include <bit>
#include <cstdint>

namespace tf::model {

// Of a positive, normal number; absolute error below 1e-7. The significand is brought to [√½, √2), where
// log2(m) = 2/ln 2 · (t + t³/3 + t⁵/5 + …) with t = (m - 1)/(m + 1).
inline double fast_log2(double x) {
  const auto bits = std::bit_cast<int64_t>(x);
  constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const int64_t exponent = (bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52));
  const double t = (m - 1) / (m + 1), s = t * t;
  constexpr double kScale = 2.8853900817779268;  // 2 / ln 2
  const double series = t * (1 + s * (1.0 / 3 + s * (1.0 / 5 + s * (1.0 / 7 + s * (1.0 / 9)))));
  // The exponent as a double by its bits: conversions of int64 are not vector instructions everywhere.
  constexpr double kMagic = 6755399441055744;  // 3 · 2^51
  const double whole = std::bit_cast<double>(std::bit_cast<int64_t>(kMagic) + exponent) - kMagic;
  return whole + kScale * series;
}

}  // namespace tf::model
