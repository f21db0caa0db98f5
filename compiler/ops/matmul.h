#pragma once
// Owns: matrix products. Does not know: layouts, tilings.

#include "compiler/ops/builder.h"

namespace tf::ops {

struct MatmulOptions {
  bool transpose_a = false;  // a is stored [k, m]
  bool transpose_b = false;  // b is stored [n, k]
};

// a[…, m, k] · b[…, k, n] → […, m, n]; the axes before the last two broadcast as in NumPy. One stage with the
// reduce axis k. Element types as in conv. Labels: matmul, or batch_matmul if the result has more than two
// axes.
Buffer matmul(Builder& b, const Buffer& x, const Buffer& y, MatmulOptions options = {});

}  // namespace tf::ops
