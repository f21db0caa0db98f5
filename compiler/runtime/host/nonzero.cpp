#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/places.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

template <typename T>
int32_t nonzero(const tf_host_arguments& arguments) {
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), indices = tf_host_tensor_at(&arguments, 1),
                       counted = tf_host_tensor_at(&arguments, 2);
  if (x.rank > kMostAxes) return TF_MODEL_BAD_LIBRARY;
  const T* all = static_cast<const T*>(x.data);
  const int64_t elements = tf_host_elements(&x, 0, x.rank);
  int64_t count = 0;
  for (int64_t i = 0; i < elements; ++i) count += value_of(all[i]) != Value<T>(0);
  *static_cast<int64_t*>(counted.data) = count;
  if (count == 0) return 0;
  // Without a place: [0, count].
  if (x.rank == 0) return 0;
  int64_t* next = static_cast<int64_t*>(indices.data);
  const int32_t last = x.rank - 1;
  const int64_t length = x.extents[last];
  int64_t strides[kMostAxes];
  row_major(x.extents, x.rank, strides);
  Walk walk(x.extents, last, strides);
  do {
    const T* row = all + walk.place();
    for (int64_t i = 0; i < length; ++i) {
      if (value_of(row[i]) == Value<T>(0)) continue;
      for (int32_t d = 0; d < last; ++d) next[d * count] = walk.at(d);
      next[last * count] = i;
      ++next;
    }
  } while (walk.next());
  return 0;
}

}  // namespace
}  // namespace tf::host

int32_t tf_host_nonzero(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  return tf::host::with_type(tf_host_tensor_at(&arguments, 0).element,
                             [&](auto element) { return tf::host::nonzero<decltype(element)>(arguments); });
}
