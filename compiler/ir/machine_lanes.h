#pragma once
// Owns: how the interpreter holds one lane of each element type, in frames and in memory. Private to
// compiler/ir.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "compiler/tensor/half.h"
#include "compiler/tensor/saturate.h"
#include "compiler/tensor/type.h"

namespace tf::ir::machine {

using tensor::Element;

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
    return E == Element::kFloat16 ? tensor::float16_value(bits) : tensor::bfloat16_value(bits);
  }
  static void write(std::byte* p, float value) {
    const uint16_t bits = E == Element::kFloat16 ? tensor::float16_bits(value) : tensor::bfloat16_bits(value);
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
    case Element::kInt16:
      return f(LaneOf<Element::kInt16, int16_t>());
    case Element::kUInt16:
      return f(LaneOf<Element::kUInt16, uint16_t>());
    case Element::kInt32:
      return f(LaneOf<Element::kInt32, int32_t>());
    case Element::kUInt32:
      return f(LaneOf<Element::kUInt32, uint32_t>());
    case Element::kInt64:
      return f(LaneOf<Element::kInt64, int64_t>());
    case Element::kUInt64:
      return f(LaneOf<Element::kUInt64, uint64_t>());
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
    return tensor::saturate<T>(static_cast<double>(value));
  } else if constexpr (To::kElement == Element::kFloat16 || To::kElement == Element::kBFloat16) {
    return To::finish(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace tf::ir::machine
