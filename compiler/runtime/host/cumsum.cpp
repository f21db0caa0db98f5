#include <algorithm>

#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

// As many columns at once as have their sums in the nearest cache.
constexpr int64_t kColumns = 64;

// Columns along the axis; `step` is negative from its end.
template <typename T, bool kProduct>
void fold_columns(const T* x, T* y, int64_t columns, int64_t extent, int64_t step, bool exclusive) {
  Value<T> folded[kColumns];
  std::fill_n(folded, columns, static_cast<Value<T>>(kProduct ? 1 : 0));
  for (int64_t i = 0; i < extent; ++i, x += step, y += step) {
    for (int64_t c = 0; c < columns; ++c) {
      const Value<T> with = kProduct ? product(folded[c], value_of(x[c])) : sum(folded[c], value_of(x[c]));
      y[c] = element_of<T>(exclusive ? folded[c] : with);
      folded[c] = with;
    }
  }
}

template <typename T>
int32_t cumsum(const tf_call* call, const tf_host_arguments& arguments) {
  const auto axis = static_cast<int32_t>(arguments.attributes[0]);
  const bool exclusive = arguments.attributes[1] != 0, reverse = arguments.attributes[2] != 0,
             is_product = arguments.attributes[3] != 0;
  const auto fold = is_product ? fold_columns<T, true> : fold_columns<T, false>;
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), y = tf_host_tensor_at(&arguments, 1);
  const int64_t outer = tf_host_elements(&x, 0, axis), extent = x.extents[axis],
                inner = tf_host_elements(&x, axis + 1, x.rank);
  if (extent == 0) return 0;
  return for_each(call->runtime, outer, [&](int64_t o, int32_t) {
    const int64_t start = (o * extent + (reverse ? extent - 1 : 0)) * inner;
    for (int64_t c = 0; c < inner; c += kColumns) {
      fold(static_cast<const T*>(x.data) + start + c, static_cast<T*>(y.data) + start + c,
           std::min(kColumns, inner - c), extent, reverse ? -inner : inner, exclusive);
    }
    return 0;
  });
}

}  // namespace
}  // namespace tf::host

int32_t tf_host_cumsum(const tf_call* call) {
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  return tf::host::with_type(tf_host_tensor_at(&arguments, 0).element, [&](auto element) {
    return tf::host::cumsum<decltype(element)>(call, arguments);
  });
}
