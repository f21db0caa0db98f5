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

struct GemmOptions {
  double alpha = 1.0;
  double beta = 1.0;
  bool transpose_a = false;
  bool transpose_b = false;
};

// alpha · x · y + beta · c, c broadcast to [m, n]; a null c is none. alpha = 1 and beta = 1 cost no stage.
Buffer gemm(Builder& b, const Buffer& x, const Buffer& y, const Buffer& c, GemmOptions options = {});

}  // namespace tf::ops
