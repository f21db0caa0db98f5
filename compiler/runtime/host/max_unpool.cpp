#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/workspace.h"

int32_t tf_host_max_unpool(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), indices = tf_host_tensor_at(&arguments, 1),
                       y = tf_host_tensor_at(&arguments, 2);
  const int64_t count = tf_host_elements(&x, 0, x.rank), places = tf_host_elements(&y, 0, y.rank);
  const auto* index = static_cast<const int64_t*>(indices.data);
  return tf::host::with_bits(x.element, [&](auto bits) -> int32_t {
    using T = decltype(bits);
    T* all = static_cast<T*>(y.data);
    memset(all, 0, static_cast<uint64_t>(places) * sizeof(T));
    for (int64_t i = 0; i < count; ++i) {
      if (index[i] < 0 || index[i] >= places) return TF_MODEL_BAD_INDEX;
      all[index[i]] = static_cast<const T*>(x.data)[i];
    }
    return 0;
  });
}
