// Top-k of rows. What sorts are integers that hold an element's order and its place, so no two are equal and every
// algorithm is stable.
#include <algorithm>

#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/order.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

constexpr int64_t kBlock = 32;

// Below this share of the row, most of it is passed over by a comparison with the k-th best so far.
bool is_selective(int64_t extent, int64_t k) {
  return k <= extent / 4;
}

int64_t capacity(int64_t extent, int64_t k) {
  return is_selective(extent, k) ? 2 * k + kBlock : extent;
}

template <typename T>
struct Row {
  const T* first;
  int64_t stride, extent;
  bool largest;

  using Key = typename Placed<T>::Key;
  Key key(int64_t i) const {
    const Key key = order_of(first[i * stride]);
    return largest ? static_cast<Key>(~key) : key;
  }
};

template <typename P>
void keep_best(P* all, P* end, int64_t k) {
  std::nth_element(all, all + k - 1, end);
}

// all[0 … k) = the row's best, in any order.
template <typename T, typename P>
void collect(const Row<T>& row, int64_t k, P* all) {
  for (int64_t i = 0; i < row.extent; ++i) all[i] = placed(row.key(i), i);
  if (k < row.extent) keep_best(all, all + row.extent, k);
}

// Whether none of a block's elements is better than the limit; false for a NaN among them, or where the type compares in
// no other way than by its order.
template <typename T>
bool none_is_better(const T* from, T limit, bool largest) {
  if constexpr (std::is_arithmetic_v<T>) {
    Unsigned<sizeof(T)> better = 0;
    if (largest) {
      for (int64_t i = 0; i < kBlock; ++i) better |= static_cast<decltype(better)>(!(from[i] <= limit));
    } else {
      for (int64_t i = 0; i < kBlock; ++i) better |= static_cast<decltype(better)>(!(from[i] >= limit));
    }
    return better == 0;
  } else {
    return false;
  }
}

// The same with memory for 2 k: whenever it is full, the better half stays, and what comes later must be better than
// its worst.
template <typename T, typename P>
void select(const Row<T>& row, int64_t k, P* all) {
  using Key = typename Row<T>::Key;
  int64_t count = 0;
  Key limit = static_cast<Key>(~Key{0});
  T worst = row.first[0];  // of the limit
  bool limited = false;
  for (int64_t start = 0; start < row.extent; start += kBlock) {
    const int64_t length = std::min(kBlock, row.extent - start);
    Key keys[kBlock];
    if (length == kBlock && row.stride == 1) {
      const T* from = row.first + start;
      if (limited && none_is_better(from, worst, row.largest)) continue;
      const Key flip = row.largest ? static_cast<Key>(~Key{0}) : Key{0};
      for (int64_t i = 0; i < kBlock; ++i) keys[i] = static_cast<Key>(order_of(from[i])) ^ flip;
    } else {
      for (int64_t i = 0; i < length; ++i) keys[i] = row.key(start + i);
      for (int64_t i = length; i < kBlock; ++i) keys[i] = static_cast<Key>(~Key{0});
    }
    if (limited) {
      Key better = 0;
      for (int64_t i = 0; i < kBlock; ++i) better |= static_cast<Key>(keys[i] < limit);
      if (better == 0) continue;
    }
    for (int64_t i = 0; i < length; ++i) {
      all[count] = placed(keys[i], start + i);
      count += !limited || keys[i] < limit;
    }
    if (count >= 2 * k || (!limited && count > k)) {
      keep_best(all, all + count, k);
      count = k;
      limit = key_of(all[k - 1]);
      worst = row.first[place_of(all[k - 1]) * row.stride];
      limited = true;
    }
  }
  if (count > k) keep_best(all, all + count, k);
}

template <typename T>
int32_t topk(const tf_call* call, const tf_host_arguments& arguments) {
  using P = typename Placed<T>::Type;
  const auto axis = static_cast<int32_t>(arguments.attributes[0]);
  const bool largest = arguments.attributes[1] != 0;
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), values = tf_host_tensor_at(&arguments, 1),
                       indices = tf_host_tensor_at(&arguments, 2);
  const int64_t inner = tf_host_elements(&x, axis + 1, x.rank), extent = x.extents[axis],
                k = values.extents[axis];
  if (k == 0) return 0;
  if (extent > int64_t{UINT32_MAX}) return TF_KERNEL_SHORT_BUFFER;
  const tf_host_workspace size = tf_host_topk_workspace(call->dims);
  return for_each(call->runtime, tf_host_elements(&x, 0, axis) * inner, [&](int64_t i, int32_t thread) {
    const int64_t outer = i / inner, column = i - outer * inner;
    const Row<T> row = {static_cast<const T*>(x.data) + outer * extent * inner + column, inner, extent,
                        largest};
    P* all = workspace_of<P>(call, size, thread);
    if (is_selective(extent, k))
      select(row, k, all);
    else
      collect(row, k, all);
    std::sort(all, all + k);
    T* value = static_cast<T*>(values.data) + outer * k * inner + column;
    int64_t* index = static_cast<int64_t*>(indices.data) + outer * k * inner + column;
    for (int64_t j = 0; j < k; ++j) {
      index[j * inner] = place_of(all[j]);
      value[j * inner] = row.first[place_of(all[j]) * inner];
    }
    return 0;
  });
}

}  // namespace
}  // namespace tf::host

tf_host_workspace tf_host_topk_workspace(const int64_t* dims) {
  const int64_t axis = dims[1];
  const tf::host::Shape x = tf::host::shape_at(dims, 0);
  const int64_t count = tf::host::capacity(x.extents[axis], tf::host::shape_at(dims, 1).extents[axis]);
  return {0, tf::host::aligned(static_cast<uint64_t>(count) * sizeof(tf::host::Placed64))};
}

int32_t tf_host_topk(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  return tf::host::with_type(tf_host_tensor_at(&arguments, 0).element, [&](auto element) {
    return tf::host::topk<decltype(element)>(call, arguments);
  });
}
