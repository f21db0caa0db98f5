#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/random_words.h"
#include "compiler/runtime/host/workspace.h"

int32_t tf_host_bernoulli(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), y = tf_host_tensor_at(&arguments, 2);
  const RandomStream random(arguments.attributes[0], *static_cast<const int64_t*>(call->buffers[1]));
  const int64_t count = tf_host_elements(&x, 0, x.rank);
  return with_float(x.element, [&](auto of_x) {
    return with_type(y.element, [&](auto of_y) {
      using T = decltype(of_y);
      const auto* probability = static_cast<const decltype(of_x)*>(x.data);
      T* all = static_cast<T*>(y.data);
      for (int64_t i = 0; i < count; i += 2) {
        const RandomWords words = random.at(i / 2);
        for (int half = 0; half < 2 && i + half < count; ++half)
          all[i + half] = element_of<T>(words.uniform(half) < value_of(probability[i + half]) ? 1 : 0);
      }
      return 0;
    });
  });
}
