#include <algorithm>

#include "compiler/runtime/host/elements.h"
#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

double magnitude(double value) {
  return value < 0 ? -value : value;
}

// By elimination with the largest pivot of each column; the matrix is changed. A NaN is the largest.
double determinant(double* matrix, int64_t n) {
  double product = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row)
      if (!(magnitude(matrix[row * n + column]) <= magnitude(matrix[pivot * n + column]))) pivot = row;
    if (pivot != column) {
      std::swap_ranges(matrix + pivot * n, matrix + (pivot + 1) * n, matrix + column * n);
      product = -product;
    }
    const double* from = matrix + column * n;
    product *= from[column];
    if (from[column] == 0) continue;  // so are those below
    for (int64_t row = column + 1; row < n; ++row) {
      double* at = matrix + row * n;
      const double factor = at[column] / from[column];
      for (int64_t i = column + 1; i < n; ++i) at[i] -= factor * from[i];
    }
  }
  return product;
}

}  // namespace
}  // namespace tf::host

tf_host_workspace tf_host_det_workspace(const int64_t* dims) {
  const tf::host::Shape x = tf::host::shape_at(dims, 0);
  const auto n = static_cast<uint64_t>(x.extents[x.rank - 1]);
  return {0, tf::host::aligned(n * n * sizeof(double))};
}

int32_t tf_host_det(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor x = tf_host_tensor_at(&arguments, 0), y = tf_host_tensor_at(&arguments, 1);
  const int64_t n = x.extents[x.rank - 1];
  const tf_host_workspace size = tf_host_det_workspace(call->dims);
  return with_float(x.element, [&](auto element) {
    using T = decltype(element);
    return for_each(call->runtime, tf_host_elements(&x, 0, x.rank - 2), [&](int64_t i, int32_t thread) {
      double* matrix = workspace_of<double>(call, size, thread);
      const T* from = static_cast<const T*>(x.data) + i * n * n;
      for (int64_t j = 0; j < n * n; ++j) matrix[j] = value_of(from[j]);
      static_cast<T*>(y.data)[i] = rounded<T>(determinant(matrix, n));
      return 0;
    });
  });
}
