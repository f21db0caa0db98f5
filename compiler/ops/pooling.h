#pragma once
// Owns: pooling over one to three spatial axes of x[N, C, spatial…]. Global pools are reduce over those axes.

#include "compiler/ops/window.h"

namespace tf::ops {

// The greatest value in each window; padding never wins. Stages: "pad" (with -infinity; the lowest integer),
// max_pool. Labels: max_pool1d, max_pool2d, max_pool3d.
Buffer max_pool(Builder& b, const Buffer& x, Window window);

// Where the greatest value of each window lies: its row-major place in all of x, i64; of equal ones the first. Stages:
// "pad", the maximum, the place. A window with NaN has the place of its first element. Label: max_pool_index2d, …
Buffer max_pool_index(Builder& b, const Buffer& x, Window window);

// The mean of each window: of the elements that exist, or with count_include_pad of those and the
// padding. Stages: "pad" (with 0), the sum, the quotient. Labels:
// avg_pool1d, …
Buffer avg_pool(Builder& b, const Buffer& x, Window window, bool count_include_pad);

}  // namespace tf::ops
