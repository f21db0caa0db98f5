#include "compiler/runtime/axis_sum.h"

namespace {

constexpr int32_t kMostAxes = 31;

bool is_summed(uint32_t axes, int32_t axis) {
  return (axes >> axis & 1) != 0;
}

}  // namespace

void tf_sum_axes(int32_t is_signed, uint32_t axes, const int64_t* extents, int32_t rank, const void* source,
                 int32_t* sums) {
  // By how much the place of a sum moves with each axis.
  int64_t strides[kMostAxes], at[kMostAxes], elements = 1, results = 1;
  for (int32_t d = rank; d-- > 0;) {
    at[d] = 0;
    strides[d] = is_summed(axes, d) ? 0 : results;
    results *= is_summed(axes, d) ? 1 : extents[d];
    elements *= extents[d];
  }
  for (int64_t i = 0; i < results; ++i) sums[i] = 0;
  const auto* bytes = static_cast<const uint8_t*>(source);
  int64_t result = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const int32_t value = is_signed != 0 ? static_cast<int8_t>(bytes[i]) : bytes[i];
    sums[result] = static_cast<int32_t>(static_cast<uint32_t>(sums[result]) + static_cast<uint32_t>(value));
    for (int32_t d = rank; d-- > 0;) {
      result += strides[d];
      if (++at[d] < extents[d]) break;
      result -= strides[d] * extents[d];
      at[d] = 0;
    }
  }
}
