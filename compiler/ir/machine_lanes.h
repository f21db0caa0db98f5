#pragma once
// Owns: how the interpreter holds one lane of each element type, in frames and in memory. Private to
// compiler/ir.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "compiler/tensor/type.h"

namespace tf::ir::machine {

using tensor::Element;

// float whose value f16 or bf16 represents exactly, to its bits and back.
inline uint16_t bfloat16_bits(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}
inline float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
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
inline float from_float16(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * static_cast<float>(fraction) * 0x1p-24f;
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// Lane: the C++ type in a frame; Memory: in a buffer; finish: a computed value as the type keeps it.
template <Element E, typename L, typename M = L>
struct LaneOf {
  static constexpr Element kElement = E;
  using Lane = L;
  using Memory = M;
  static constexpr bool kIsFloat = std::is_floating_point_v<L>;
  static L finish(L value) { return value; }
  static L read(const std::byte* p) {
    M value;
    std::memcpy(&value, p, sizeof value);
    return static_cast<L>(value);
  }
  static void write(std::byte* p, L value) {
    const auto memory = static_cast<M>(value);
    std::memcpy(p, &memory, sizeof memory);
  }
};

struct BoolLane : LaneOf<Element::kBool, uint8_t> {
  static uint8_t finish(uint8_t value) { return value != 0; }
  static uint8_t read(const std::byte* p) { return static_cast<uint8_t>(*p) != 0; }
};

template <Element E>
struct HalfLane : LaneOf<E, float, uint16_t> {
  static float finish(double value) { return static_cast<float>(tensor::round_to_element(E, value)); }
  static float read(const std::byte* p) {
    uint16_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return E == Element::kFloat16 ? from_float16(bits) : from_bfloat16(bits);
  }
  static void write(std::byte* p, float value) {
    const uint16_t bits = E == Element::kFloat16 ? float16_bits(value) : bfloat16_bits(value);
    std::memcpy(p, &bits, sizeof bits);
  }
};

// f(lane type) for the element.
template <typename F>
auto with_lane(Element element, F&& f) {
  switch (element) {
    case Element::kBool:
      return f(BoolLane());
    case Element::kInt8:
      return f(LaneOf<Element::kInt8, int8_t>());
    case Element::kUInt8:
      return f(LaneOf<Element::kUInt8, uint8_t>());
    case Element::kInt32:
      return f(LaneOf<Element::kInt32, int32_t>());
    case Element::kInt64:
      return f(LaneOf<Element::kInt64, int64_t>());
    case Element::kFloat16:
      return f(HalfLane<Element::kFloat16>());
    case Element::kBFloat16:
      return f(HalfLane<Element::kBFloat16>());
    case Element::kFloat32:
      return f(LaneOf<Element::kFloat32, float>());
    case Element::kFloat64:
      return f(LaneOf<Element::kFloat64, double>());
  }
  __builtin_unreachable();
}

// Value conversion as Cast defines it.
template <typename To, typename From>
typename To::Lane convert(typename From::Lane value) {
  using T = typename To::Lane;
  if constexpr (To::kElement == Element::kBool) {
    return value != 0;
  } else if constexpr (From::kIsFloat && !To::kIsFloat) {
    if (std::isnan(value)) return 0;
    const double whole = std::trunc(static_cast<double>(value));
    if (whole <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (whole >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(whole);
  } else if constexpr (To::kElement == Element::kFloat16 || To::kElement == Element::kBFloat16) {
    return To::finish(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace tf::ir::machine
