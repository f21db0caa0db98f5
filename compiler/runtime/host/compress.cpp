#include <algorithm>

#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/workspace.h"

int32_t tf_host_compress(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const auto axis = static_cast<int32_t>(arguments.attributes[0]);
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), condition = tf_host_tensor_at(&arguments, 1),
                       y = tf_host_tensor_at(&arguments, 2), counted = tf_host_tensor_at(&arguments, 3);
  const auto* chosen = static_cast<const uint8_t*>(condition.data);
  const int64_t extent = std::min(x.extents[axis], condition.extents[0]);
  int64_t count = 0;
  for (int64_t i = 0; i < extent; ++i) count += chosen[i] != 0;
  *static_cast<int64_t*>(counted.data) = count;
  return tf::host::with_bits(x.element, [&](auto bits) {
    using T = decltype(bits);
    const int64_t outer = tf_host_elements(&x, 0, axis), inner = tf_host_elements(&x, axis + 1, x.rank);
    const T* from = static_cast<const T*>(x.data);
    T* next = static_cast<T*>(y.data);
    for (int64_t o = 0; o < outer; ++o, from += x.extents[axis] * inner) {
      for (int64_t i = 0; i < extent; ++i) {
        if (chosen[i] == 0) continue;
        memcpy(next, from + i * inner, static_cast<uint64_t>(inner) * sizeof(T));
        next += inner;
      }
    }
    return 0;
  });
}
