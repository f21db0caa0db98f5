#ifndef TF_RUNTIME_HOST_ELEMENTS_H
#define TF_RUNTIME_HOST_ELEMENTS_H
/* Owns: which C++ type holds each element, which one it is computed in, and the choice between them: host functions are
 * templates of the first, called by with_type. Does not know: any operator. */
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "compiler/runtime/model_types.h"

namespace tf::host {

/* Bytes other than 0 and 1 may stand where a bool is read, which a C++ bool must not hold. */
struct Bool {
  uint8_t byte;
};

struct Float16 {
  uint16_t bits;
};

struct Bfloat16 {
  uint16_t bits;
};

inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The value that is computed with: bool, f32 for the two floats of 16 bits, else the element itself. */
template <typename T>
T value_of(T element) {
  return element;
}

inline bool value_of(Bool element) {
  return element.byte != 0;
}

inline float value_of(Bfloat16 element) {
  return float_of(uint32_t{element.bits} << 16);
}

inline float value_of(Float16 element) {
  const uint32_t sign = (element.bits & 0x8000u) << 16, magnitude = element.bits & 0x7fffu;
  if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000 | magnitude << 13);
  // A number of 13 places more after the point, whose exponent counts from 2^-126 instead of 2^-14.
  return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

template <typename T>
using Value = decltype(value_of(T()));

/* The element nearest to the value, ties to even. */
template <typename T>
T element_of(Value<T> value) {
  return value;
}

template <>
inline Bool element_of<Bool>(bool value) {
  return {value};
}

template <>
Float16 element_of<Float16>(float value);
template <>
Bfloat16 element_of<Bfloat16>(float value);

/* From a double, of any float element. */
template <typename T>
T rounded(double value) {
  return element_of<T>(static_cast<Value<T>>(value));
}

/* Integers wrap around; of bools this is "or" and "and". */
template <typename V>
V sum(V a, V b) {
  if constexpr (std::is_same_v<V, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

template <typename V>
V product(V a, V b) {
  if constexpr (std::is_same_v<V, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

/* What a call returns whose element its function has no code for: the model's tables are wrong. */
constexpr int32_t kNoSuchElement = TF_MODEL_BAD_LIBRARY;

/* function(T()) for a float element held in T. */
template <typename F>
int32_t with_float(int32_t element, F&& function) {
  switch (element) {
    case TF_ELEMENT_FLOAT16:
      return function(Float16());
    case TF_ELEMENT_BFLOAT16:
      return function(Bfloat16());
    case TF_ELEMENT_FLOAT32:
      return function(float());
    case TF_ELEMENT_FLOAT64:
      return function(double());
  }
  return kNoSuchElement;
}

/* function(T()) for any element. */
template <typename F>
int32_t with_type(int32_t element, F&& function) {
  switch (element) {
    case TF_ELEMENT_BOOL:
      return function(Bool());
    case TF_ELEMENT_INT8:
      return function(int8_t());
    case TF_ELEMENT_UINT8:
      return function(uint8_t());
    case TF_ELEMENT_INT16:
      return function(int16_t());
    case TF_ELEMENT_UINT16:
      return function(uint16_t());
    case TF_ELEMENT_INT32:
      return function(int32_t());
    case TF_ELEMENT_UINT32:
      return function(uint32_t());
    case TF_ELEMENT_INT64:
      return function(int64_t());
    case TF_ELEMENT_UINT64:
      return function(uint64_t());
  }
  return with_float(element, function);
}

/* Of an index: i32 or i64. */
template <typename F>
int32_t with_index(int32_t element, F&& function) {
  switch (element) {
    case TF_ELEMENT_INT32:
      return function(int32_t());
    case TF_ELEMENT_INT64:
      return function(int64_t());
  }
  return kNoSuchElement;
}

/* function(T()) with an unsigned integer of the element's size, for what only moves elements. */
template <typename F>
int32_t with_bits(int32_t element, F&& function) {
  return with_type(element, [&](auto kind) -> int32_t {
    using T = decltype(kind);
    if constexpr (sizeof(T) == 1)
      return function(uint8_t());
    else if constexpr (sizeof(T) == 2)
      return function(uint16_t());
    else if constexpr (sizeof(T) == 4)
      return function(uint32_t());
    else
      return function(uint64_t());
  });
}

}  // namespace tf::host

#endif
