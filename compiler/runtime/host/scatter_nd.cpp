#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/places.h"
#include "compiler/runtime/host/reduction.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

// put(place of a slice in y, its update, elements of a slice) for each index.
template <typename T, typename Put>
int32_t scatter(const tf_host_arguments& arguments, const Put& put) {
  const tf_host_tensor data = tf_host_tensor_at(&arguments, 0), indices = tf_host_tensor_at(&arguments, 1),
                       updates = tf_host_tensor_at(&arguments, 2), y = tf_host_tensor_at(&arguments, 3);
  if (y.data != data.data)
    memcpy(y.data, data.data, static_cast<uint64_t>(tf_host_elements(&data, 0, data.rank)) * sizeof(T));
  const auto depth = static_cast<int32_t>(indices.extents[indices.rank - 1]);
  if (data.rank > kMostAxes || depth > data.rank) return TF_MODEL_BAD_LIBRARY;
  int64_t strides[kMostAxes];
  row_major(data.extents, data.rank, strides);
  const int64_t count = tf_host_elements(&indices, 0, indices.rank - 1),
                slice = tf_host_elements(&data, depth, data.rank);
  const auto* index = static_cast<const int64_t*>(indices.data);
  const auto* update = static_cast<const T*>(updates.data);
  for (int64_t i = 0; i < count; ++i, update += slice) {
    int64_t place = 0;
    for (int32_t d = 0; d < depth; ++d) {
      const int64_t at = resolved(*index++, data.extents[d]);
      if (at < 0) return TF_MODEL_BAD_INDEX;
      place += at * strides[d];
    }
    put(static_cast<T*>(y.data) + place, update, slice);
  }
  return 0;
}

}  // namespace
}  // namespace tf::host

int32_t tf_host_scatter_nd(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const int32_t element = tf_host_tensor_at(&arguments, 0).element;
  if (tf_host_tensor_at(&arguments, 1).element != TF_ELEMENT_INT64) return kNoSuchElement;
  if (arguments.attributes[0] == TF_HOST_REDUCE_NONE) {
    return with_bits(element, [&](auto bits) {
      using T = decltype(bits);
      return scatter<T>(arguments, [](T* at, const T* update, int64_t count) {
        memcpy(at, update, static_cast<uint64_t>(count) * sizeof(T));
      });
    });
  }
  return with_type(element, [&](auto of_data) {
    using T = decltype(of_data);
    return with_reduction<T, NanRule::kKeeps>(arguments.attributes[0], [&](const auto& combine) {
      return scatter<T>(arguments, [&](T* at, const T* update, int64_t count) {
        for (int64_t i = 0; i < count; ++i) at[i] = combine(at[i], update[i]);
      });
    });
  });
}
