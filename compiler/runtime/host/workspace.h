#ifndef TF_RUNTIME_HOST_WORKSPACE_H
#define TF_RUNTIME_HOST_WORKSPACE_H
/* Owns: the memory that a host function works in, and its threads. */
#include <type_traits>

#include "compiler/runtime/host/arguments.h"
#include "compiler/runtime/host/functions.h"

namespace tf::host {

/* A buffer as tf_call.dims describes it. */
struct Shape {
  int32_t element;
  int32_t rank;
  const int64_t* extents;
};

inline Shape shape_at(const int64_t* dims, uint32_t index) {
  const int64_t* at = dims + 1 + dims[0];
  for (uint32_t i = 0; i < index; ++i) at += 2 + at[1];
  return {static_cast<int32_t>(at[0]), static_cast<int32_t>(at[1]), at + 2};
}

/* Product of the extents from axis `first` up to, not including, `last`. */
inline int64_t elements(const Shape& shape, int32_t first, int32_t last) {
  int64_t count = 1;
  for (int32_t i = first; i < last; ++i) count *= shape.extents[i];
  return count;
}

inline uint64_t aligned(uint64_t bytes) {
  return (bytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
}

/* One thread's part of the workspace. */
template <typename T>
T* workspace_of(const tf_call* call, const tf_host_workspace& size, int32_t thread) {
  return reinterpret_cast<T*>(static_cast<uint8_t*>(call->workspace) + size.bytes +
                              static_cast<uint64_t>(thread) * size.bytes_per_thread);
}

/* function(i, thread) → error for each i below count, by all threads. */
template <typename F>
int32_t for_each(const tf_runtime* runtime, int64_t count, F&& function) {
  if (runtime->threads > 1 && count > 1) {
    const tf_parallel_task task = [](void* closure, int64_t i, int32_t thread) {
      return (*static_cast<std::remove_reference_t<F>*>(closure))(i, thread);
    };
    return runtime->parallel_for(runtime, count, task, &function);
  }
  for (int64_t i = 0; i < count; ++i)
    if (const int32_t error = function(i, 0); error != 0) return error;
  return 0;
}

}  // namespace tf::host

#endif
