#pragma once
// Owns: the bits of 16-bit floats (IEEE 754 binary16 and bfloat16) and the values they stand for. Does not
// know: rounding (round_to_element does that).

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compiler/tensor/type.h"

namespace tf::tensor {

// The bits of a value that the format represents exactly; any NaN gives a quiet one.
inline uint16_t bfloat16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>(bits >> 16 | (std::isnan(value) ? 0x40 : 0));
}
inline uint16_t float16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (magnitude < 0x1p-14f) return sign | static_cast<uint16_t>(magnitude * 0x1p24f);
  const uint32_t shifted = (bits & 0x7fffffff) - (112u << 23);
  return sign | static_cast<uint16_t>(shifted >> 13);
}

inline float bfloat16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline float float16_value(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * static_cast<float>(fraction) * 0x1p-24f;
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// Of the element type kFloat16 or kBFloat16: the bits of what is nearest to `value`, rounded once.
inline uint16_t half_bits(Element element, double value) {
  const auto nearest = static_cast<float>(round_to_element(element, value));
  return element == Element::kFloat16 ? float16_bits(nearest) : bfloat16_bits(nearest);
}

}  // namespace tf::tensor
