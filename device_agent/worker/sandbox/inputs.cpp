#include "device_agent/worker/sandbox/inputs.h"

#include <cstring>

#include "base/mix.h"
#include "compiler/runtime/model.h"

namespace tf::worker::sandbox {
namespace {

class Stream {
 public:
  Stream(uint64_t seed, uint64_t stream) : key_(mix(seed + kMixStep * (stream + 1))) {}
  uint64_t bits(int64_t index) const { return mix(key_ + kMixStep * static_cast<uint64_t>(index)); }
  // Uniform in [0, 1), 24 bits: exact as a float.
  double unit(int64_t index) const { return static_cast<double>(bits(index) >> 40) * 0x1p-24; }

 private:
  uint64_t key_;
};

uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

uint16_t to_bfloat16(float value) {
  return static_cast<uint16_t>((float_bits(value) + 0x8000u) >> 16);
}

// Finite values only; what is below half's normal range becomes zero, what is above its largest value that
// value.
uint16_t to_float16(float value) {
  const uint32_t bits = float_bits(value) + 0x1000u;  // half a unit in the last place of the result
  const uint32_t sign = bits >> 16 & 0x8000u;
  const int32_t exponent = static_cast<int32_t>(bits >> 23 & 0xffu) - 112;
  if (exponent <= 0) return static_cast<uint16_t>(sign);
  if (exponent >= 31) return static_cast<uint16_t>(sign | 0x7bffu);
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent) << 10 | (bits >> 13 & 0x3ffu));
}

template <typename T, typename Convert>
void fill_real(const PortJob& port, const Stream& stream, void* target, Convert convert) {
  T* elements = static_cast<T*>(target);
  const int64_t count = static_cast<int64_t>(port.logical_bytes / sizeof(T));
  const double span = port.high - port.low;
  for (int64_t i = 0; i < count; ++i) elements[i] = convert(port.low + span * stream.unit(i));
}

template <typename T>
void fill_integer(const PortJob& port, const Stream& stream, void* target) {
  T* elements = static_cast<T*>(target);
  const int64_t count = static_cast<int64_t>(port.logical_bytes / sizeof(T));
  const auto low = static_cast<int64_t>(port.low);
  const uint64_t span = static_cast<uint64_t>(static_cast<int64_t>(port.high) - low) + 1;
  for (int64_t i = 0; i < count; ++i) {
    // 32 random bits scaled to the span, which is at most 2^32.
    elements[i] = static_cast<T>(low + static_cast<int64_t>((stream.bits(i) >> 32) * span >> 32));
  }
}

}  // namespace

void fill_input(const PortJob& port, uint64_t seed, uint64_t stream_number, void* row_major) {
  const Stream stream(seed, stream_number);
  switch (port.element) {
    case TF_ELEMENT_FLOAT32:
      return fill_real<float>(port, stream, row_major, [](double v) { return static_cast<float>(v); });
    case TF_ELEMENT_FLOAT64:
      return fill_real<double>(port, stream, row_major, [](double v) { return v; });
    case TF_ELEMENT_FLOAT16:
      return fill_real<uint16_t>(port, stream, row_major,
                                 [](double v) { return to_float16(static_cast<float>(v)); });
    case TF_ELEMENT_BFLOAT16:
      return fill_real<uint16_t>(port, stream, row_major,
                                 [](double v) { return to_bfloat16(static_cast<float>(v)); });
    case TF_ELEMENT_BOOL:
    case TF_ELEMENT_UINT8:
      return fill_integer<uint8_t>(port, stream, row_major);
    case TF_ELEMENT_INT8:
      return fill_integer<int8_t>(port, stream, row_major);
    case TF_ELEMENT_INT16:
      return fill_integer<int16_t>(port, stream, row_major);
    case TF_ELEMENT_UINT16:
      return fill_integer<uint16_t>(port, stream, row_major);
    case TF_ELEMENT_INT32:
      return fill_integer<int32_t>(port, stream, row_major);
    case TF_ELEMENT_UINT32:
      return fill_integer<uint32_t>(port, stream, row_major);
    case TF_ELEMENT_UINT64:
      return fill_integer<uint64_t>(port, stream, row_major);
    case TF_ELEMENT_INT64:
      return fill_integer<int64_t>(port, stream, row_major);
  }
}

void poison_output(const PortJob& port, void* physical) {
  const bool real = port.element == TF_ELEMENT_FLOAT16 || port.element == TF_ELEMENT_BFLOAT16 ||
                    port.element == TF_ELEMENT_FLOAT32 || port.element == TF_ELEMENT_FLOAT64;
  std::memset(physical, real ? 0xff : 0xa5, port.size_bytes);
}

}  // namespace tf::worker::sandbox
