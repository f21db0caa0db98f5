#pragma once
// Owns: the numbers of element types in a model's ABI and in kernel.v1, which are the same. Does not know: either's other parts.

#include <cstdint>

#include "compiler/runtime/model_types.h"
#include "compiler/tensor/type.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {

constexpr int32_t element_number(tensor::Element element) {
  return static_cast<int32_t>(element) + 1;
}
// What nobody has the number of is taken for f32.
constexpr tensor::Element element_of_number(int32_t number) {
  const bool is_one = number >= TF_ELEMENT_BOOL && number <= TF_ELEMENT_UINT64;
  return is_one ? static_cast<tensor::Element>(number - 1) : tensor::Element::kFloat32;
}

#define TF_SAME_NUMBER(element, name)                                            \
  static_assert(element_number(tensor::Element::element) == TF_ELEMENT_##name && \
                TF_ELEMENT_##name == static_cast<int>(tunefarm::kernel::v1::ELEMENT_TYPE_##name))
TF_SAME_NUMBER(kBool, BOOL);
TF_SAME_NUMBER(kInt8, INT8);
TF_SAME_NUMBER(kUInt8, UINT8);
TF_SAME_NUMBER(kInt32, INT32);
TF_SAME_NUMBER(kInt64, INT64);
TF_SAME_NUMBER(kFloat16, FLOAT16);
TF_SAME_NUMBER(kBFloat16, BFLOAT16);
TF_SAME_NUMBER(kFloat32, FLOAT32);
TF_SAME_NUMBER(kFloat64, FLOAT64);
TF_SAME_NUMBER(kInt16, INT16);
TF_SAME_NUMBER(kUInt16, UINT16);
TF_SAME_NUMBER(kUInt32, UINT32);
TF_SAME_NUMBER(kUInt64, UINT64);
#undef TF_SAME_NUMBER

}  // namespace tf::driver
