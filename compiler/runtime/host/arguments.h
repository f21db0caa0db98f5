#ifndef TF_RUNTIME_HOST_ARGUMENTS_H
#define TF_RUNTIME_HOST_ARGUMENTS_H
/* Owns: what a host function is called with. Host functions compute what is no tensor expression: sorting, scattering,
 * selecting. They are called as kernels are (kernel_abi.h), single-threaded unless they say otherwise, on row-major
 * buffers: operands, then results. tf_call.dims holds
 *
 *   the number of attributes, the attributes (a float attribute as the bits of a double),
 *   then for each buffer: its element (TF_ELEMENT_*), its rank, its extents.
 *
 * Whoever builds a model writes these numbers, so they are consistent; the buffers' contents may be anything. */
#include <string.h>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model_types.h"

struct tf_host_tensor {
  int32_t element;
  int32_t rank;
  const int64_t* extents;
  void* data;
};

struct tf_host_arguments {
  const int64_t* attributes;
  const int64_t* tensors;
  const tf_call* call;
};

static inline tf_host_arguments tf_host_arguments_of(const tf_call* call) {
  return {call->dims + 1, call->dims + 1 + call->dims[0], call};
}

static inline double tf_host_float(int64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline tf_host_tensor tf_host_tensor_at(const tf_host_arguments* arguments, uint32_t index) {
  const int64_t* at = arguments->tensors;
  for (uint32_t i = 0; i < index; ++i) at += 2 + at[1];
  return {static_cast<int32_t>(at[0]), static_cast<int32_t>(at[1]), at + 2, arguments->call->buffers[index]};
}

/* Product of the extents from axis `first` up to, not including, `last`. */
static inline int64_t tf_host_elements(const tf_host_tensor* tensor, int32_t first, int32_t last) {
  int64_t count = 1;
  for (int32_t i = first; i < last; ++i) count *= tensor->extents[i];
  return count;
}

#endif
