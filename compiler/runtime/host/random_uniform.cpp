#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/random_words.h"
#include "compiler/runtime/host/workspace.h"

int32_t tf_host_random_uniform(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor y = tf_host_tensor_at(&arguments, 1);
  const RandomStream random(arguments.attributes[0], *static_cast<const int64_t*>(call->buffers[0]));
  const double low = tf_host_float(arguments.attributes[1]), high = tf_host_float(arguments.attributes[2]);
  const int64_t count = tf_host_elements(&y, 0, y.rank);
  return with_float(y.element, [&](auto element) {
    using T = decltype(element);
    T* all = static_cast<T*>(y.data);
    for (int64_t i = 0; i < count; i += 2) {
      const RandomWords words = random.at(i / 2);
      for (int half = 0; half < 2 && i + half < count; ++half)
        all[i + half] = rounded<T>(low + (high - low) * words.uniform(half));
    }
    return 0;
  });
}
