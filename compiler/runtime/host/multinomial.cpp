#include <algorithm>

#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/random_words.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

// sums[i] = the probabilities up to and with class i.
template <typename T>
void add_up(const T* probabilities, int64_t classes, double* sums) {
  double total = 0;
  for (int64_t i = 0; i < classes; ++i) sums[i] = total += value_of(probabilities[i]);
}

// The class in whose part of the sums the uniform number lies; never one without a part.
int64_t draw(const double* sums, int64_t classes, double uniform) {
  const double total = sums[classes - 1];
  const int64_t drawn = std::upper_bound(sums, sums + classes, uniform * total) - sums;
  return drawn < classes ? drawn : std::lower_bound(sums, sums + classes - 1, total) - sums;
}

}  // namespace
}  // namespace tf::host

tf_host_workspace tf_host_multinomial_workspace(const int64_t* dims) {
  const tf::host::Shape x = tf::host::shape_at(dims, 0);
  return {tf::host::aligned(static_cast<uint64_t>(x.extents[1]) * sizeof(double)), 0};
}

int32_t tf_host_multinomial(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), y = tf_host_tensor_at(&arguments, 2);
  const RandomStream random(arguments.attributes[0], *static_cast<const int64_t*>(call->buffers[1]));
  const int64_t batch = x.extents[0], classes = x.extents[1], samples = y.extents[1];
  if (classes == 0) return TF_MODEL_BAD_INDEX;
  auto* sums = static_cast<double*>(call->workspace);
  return with_float(x.element, [&](auto of_x) {
    return with_index(y.element, [&](auto of_y) {
      auto* next = static_cast<decltype(of_y)*>(y.data);
      for (int64_t b = 0; b < batch; ++b) {
        add_up(static_cast<const decltype(of_x)*>(x.data) + b * classes, classes, sums);
        for (int64_t s = 0; s < samples; ++s)
          *next++ = static_cast<decltype(of_y)>(draw(sums, classes, random.at(b * samples + s).uniform(0)));
      }
      return 0;
    });
  });
}
