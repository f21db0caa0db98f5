#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/places.h"
#include "compiler/runtime/host/reduction.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

template <typename T, typename Index, typename Combine>
int32_t scatter(const tf_host_arguments& arguments, const Combine& combine) {
  const auto axis = static_cast<int32_t>(arguments.attributes[0]);
  const tf_host_tensor data = tf_host_tensor_at(&arguments, 0), indices = tf_host_tensor_at(&arguments, 1),
                       updates = tf_host_tensor_at(&arguments, 2), y = tf_host_tensor_at(&arguments, 3);
  if (y.data != data.data)
    memcpy(y.data, data.data, static_cast<uint64_t>(tf_host_elements(&data, 0, data.rank)) * sizeof(T));
  if (data.rank > kMostAxes) return TF_MODEL_BAD_LIBRARY;
  // Row by row of the indices. Along the axis, the index says where in the data an update goes.
  const int32_t last = indices.rank - 1;
  const int64_t length = indices.extents[last], stride = tf_host_elements(&data, axis + 1, data.rank),
                extent = data.extents[axis], step = axis == last ? 0 : 1;
  int64_t strides[kMostAxes];
  row_major(data.extents, data.rank, strides);
  strides[axis] = 0;
  const auto* index = static_cast<const Index*>(indices.data);
  const auto* update = static_cast<const T*>(updates.data);
  if (tf_host_elements(&indices, 0, indices.rank) == 0) return 0;
  Walk walk(indices.extents, last, strides);
  do {
    T* row = static_cast<T*>(y.data) + walk.place();
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = resolved(*index++, extent);
      if (at < 0) return TF_MODEL_BAD_INDEX;
      T* place = row + at * stride + i * step;
      *place = combine(*place, *update++);
    }
  } while (walk.next());
  return 0;
}

}  // namespace
}  // namespace tf::host

int32_t tf_host_scatter_elements(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const int32_t element = tf_host_tensor_at(&arguments, 0).element,
                index = tf_host_tensor_at(&arguments, 1).element;
  return with_index(index, [&](auto of_index) {
    if (arguments.attributes[1] == TF_HOST_REDUCE_NONE)
      return with_bits(element, [&](auto bits) {
        return scatter<decltype(bits), decltype(of_index)>(arguments,
                                                           [](auto, auto update) { return update; });
      });
    return with_type(element, [&](auto of_data) {
      using T = decltype(of_data);
      return with_reduction<T, NanRule::kIsEqual>(arguments.attributes[1], [&](const auto& combine) {
        return scatter<T, decltype(of_index)>(arguments, combine);
      });
    });
  });
}
