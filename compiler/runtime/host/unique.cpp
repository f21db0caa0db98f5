// Equal elements or slices are found by sorting; results in the order of first occurrence need one more walk over the
// places.
#include <algorithm>

#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/order.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

// The operand as `extent` slices.
struct Slices {
  int64_t outer, extent, inner;
};

Slices slices_of(const int64_t* dims) {
  const Shape x = shape_at(dims, 0);
  if (dims[1] < 0) return {1, elements(x, 0, x.rank), 1};
  const auto axis = static_cast<int32_t>(dims[1]);
  return {elements(x, 0, axis), x.extents[axis], elements(x, axis + 1, x.rank)};
}

struct Results {
  int64_t *indices, *inverse, *counts, *count;
};

// Slices are numbered by place; `numbers` hold the place of each group's first slice and the group's size.
struct Workspace {
  uint8_t* sorted;
  int64_t *firsts, *sizes;
};

// Groups the places in sorted order: is_new(i) tells whether the i-th differs from the one before.
template <typename P, typename IsNew>
int64_t group(int64_t extent, const P* sorted, const Workspace& work, int64_t* inverse, const IsNew& is_new) {
  int64_t groups = 0;
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t place = place_of(sorted[i]);
    if (i == 0 || is_new(i)) {
      work.firsts[groups] = place;
      work.sizes[groups++] = 0;
    }
    ++work.sizes[groups - 1];
    inverse[place] = groups - 1;
  }
  return groups;
}

// Sorted by elements.
template <typename T>
int64_t group_elements(const T* x, int64_t extent, const Workspace& work, int64_t* inverse) {
  using P = typename Placed<T>::Type;
  using Key = typename Placed<T>::Key;
  P* sorted = reinterpret_cast<P*>(work.sorted);
  for (int64_t i = 0; i < extent; ++i) sorted[i] = placed(static_cast<Key>(order_of(x[i])), i);
  std::sort(sorted, sorted + extent);
  return group(extent, sorted, work, inverse,
               [&](int64_t i) { return key_of(sorted[i]) != key_of(sorted[i - 1]); });
}

// Sorted as sequences of elements. Negative if slice a comes before b.
template <typename T>
int32_t compare(const T* x, const Slices& slices, int64_t a, int64_t b) {
  for (int64_t o = 0; o < slices.outer; ++o) {
    const T* row = x + o * slices.extent * slices.inner;
    for (int64_t i = 0; i < slices.inner; ++i) {
      const auto left = order_of(row[a * slices.inner + i]), right = order_of(row[b * slices.inner + i]);
      if (left != right) return left < right ? -1 : 1;
    }
  }
  return 0;
}

template <typename T>
int64_t group_slices(const T* x, const Slices& slices, const Workspace& work, int64_t* inverse) {
  auto* sorted = reinterpret_cast<uint64_t*>(work.sorted);
  for (int64_t i = 0; i < slices.extent; ++i) sorted[i] = static_cast<uint64_t>(i);
  std::sort(sorted, sorted + slices.extent, [&](uint64_t a, uint64_t b) {
    const int32_t order = compare(x, slices, static_cast<int64_t>(a), static_cast<int64_t>(b));
    return order != 0 ? order < 0 : a < b;
  });
  return group(slices.extent, sorted, work, inverse, [&](int64_t i) {
    return compare(x, slices, static_cast<int64_t>(sorted[i - 1]), static_cast<int64_t>(sorted[i])) != 0;
  });
}

// Numbers the groups by their first places instead.
void number_by_place(int64_t extent, const Workspace& work, const Results& results) {
  auto* numbers = reinterpret_cast<int64_t*>(work.sorted);
  int64_t groups = 0;
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t group = results.inverse[i];
    if (work.firsts[group] == i) {
      results.indices[groups] = i;
      results.counts[groups] = work.sizes[group];
      numbers[group] = groups++;
    }
    results.inverse[i] = numbers[group];
  }
}

template <typename T>
int32_t unique(const tf_call* call, const tf_host_arguments& arguments) {
  const Slices slices = slices_of(call->dims);
  const T* x = static_cast<const T*>(call->buffers[0]);
  T* y = static_cast<T*>(call->buffers[1]);
  Results results;
  int64_t** const numbers[] = {&results.indices, &results.inverse, &results.counts, &results.count};
  for (uint32_t i = 0; i < 4; ++i) *numbers[i] = static_cast<int64_t*>(call->buffers[2 + i]);
  if (slices.extent > int64_t{UINT32_MAX}) return TF_KERNEL_SHORT_BUFFER;
  const auto extent = static_cast<uint64_t>(slices.extent);
  auto* memory = static_cast<uint8_t*>(call->workspace);
  auto* firsts = reinterpret_cast<int64_t*>(memory + extent * sizeof(Placed64));
  const Workspace work = {memory, firsts, firsts + extent};
  const bool single = slices.outer == 1 && slices.inner == 1;
  const int64_t groups = single ? group_elements(x, slices.extent, work, results.inverse)
                                : group_slices(x, slices, work, results.inverse);
  if (arguments.attributes[1] != 0) {
    for (int64_t g = 0; g < groups; ++g) {
      results.indices[g] = work.firsts[g];
      results.counts[g] = work.sizes[g];
    }
  } else {
    number_by_place(slices.extent, work, results);
  }
  *results.count = groups;
  for (int64_t o = 0; o < slices.outer; ++o) {
    for (int64_t g = 0; g < groups; ++g, y += slices.inner) {
      memcpy(y, x + (o * slices.extent + results.indices[g]) * slices.inner,
             static_cast<uint64_t>(slices.inner) * sizeof(T));
    }
  }
  return 0;
}

}  // namespace
}  // namespace tf::host

tf_host_workspace tf_host_unique_workspace(const int64_t* dims) {
  const auto extent = static_cast<uint64_t>(tf::host::slices_of(dims).extent);
  return {tf::host::aligned(extent * (sizeof(tf::host::Placed64) + 2 * sizeof(int64_t))), 0};
}

int32_t tf_host_unique(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  return tf::host::with_type(tf_host_tensor_at(&arguments, 0).element, [&](auto element) {
    return tf::host::unique<decltype(element)>(call, arguments);
  });
}
