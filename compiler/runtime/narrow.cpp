#include "compiler/runtime/narrow.h"

#include <string.h>

#include "compiler/runtime/model.h"

namespace {

constexpr uint32_t kInfinity = 0x7f800000;

uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float value_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The upper bits, rounded by adding just under half of the last kept one.
uint32_t rounded_shift(uint32_t bits, int shift) {
  return (bits + ((1u << (shift - 1)) - 1) + ((bits >> shift) & 1)) >> shift;
}

uint16_t to_bfloat16(uint32_t bits) {
  if ((bits & 0x7fffffff) > kInfinity) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>(rounded_shift(bits, 16));
}

uint16_t to_float16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (magnitude > kInfinity) {
    half = 0x7e00;
  } else if (magnitude >= 0x47800000) {  // 65536
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 aligns the sum with f16's smallest step
    half = bits_of(value_of(magnitude) + 0.5f) - bits_of(0.5f);
  } else {
    half = rounded_shift(magnitude - 0x38000000, 13);
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace

int64_t tf_narrow(int32_t element, int64_t count, const float* source, uint16_t* target) {
  const bool bfloat = element == TF_ELEMENT_BFLOAT16;
  if (!bfloat && element != TF_ELEMENT_FLOAT16) return -1;
  const uint32_t infinity = bfloat ? kInfinity >> 16 : 0x7c00;
  int64_t overflowed = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = bits_of(source[i]);
    target[i] = bfloat ? to_bfloat16(bits) : to_float16(bits);
    overflowed += (target[i] & 0x7fffu) == infinity && (bits & 0x7fffffff) != kInfinity;
  }
  return overflowed;
}
