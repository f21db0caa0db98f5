#include <string.h>

#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/workspace.h"

int32_t tf_host_bit_cast(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), y = tf_host_tensor_at(&arguments, 1);
  const auto count = static_cast<uint64_t>(tf_host_elements(&x, 0, x.rank));
  return tf::host::with_type(x.element, [&](auto element) {
    if (count == 0) return 0;
    memcpy(y.data, x.data, count * sizeof element);
    if (y.element != TF_ELEMENT_BOOL) return 0;
    auto* bytes = static_cast<uint8_t*>(y.data);
    for (uint64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
    return 0;
  });
}
