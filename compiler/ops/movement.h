#pragma once
// Owns: operators that move elements and compute nothing. Each appends one stage, which reads row-major
// logical indices. Does not know: layouts.

#include "compiler/ops/builder.h"

namespace tf::ops {

// Result axis i is x's axis perm[i].
Buffer transpose(Builder& b, const Buffer& x, const std::vector<int64_t>& perm);
// The same elements in row-major order. Axes that stay whole keep their index, so that only what is really
// merged or taken apart divides.
Buffer reshape(Builder& b, const Buffer& x, const std::vector<Expr>& extents);
// x broadcast to at least the extents, as in NumPy.
Buffer expand(Builder& b, const Buffer& x, const std::vector<Expr>& extents);
// The operands one after another along the axis.
Buffer concat(Builder& b, const std::vector<Buffer>& operands, int axis);

// Along axes[k], result element i is x's element starts[k] + i * steps[k], of sizes[k]; steps may be
// negative.
struct SliceOptions {
  std::vector<int64_t> axes, starts, sizes, steps;
};
Buffer slice(Builder& b, const Buffer& x, const SliceOptions& options);

// `value` around x; one entry an axis, none negative.
Buffer pad(Builder& b, const Buffer& x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
           double value);

// Channels of x[N, C, spatial…] put between its elements: with blocks[d] along each spatial axis d and B their
// product, C = groups · B · M,
//   y[N, g · M + m, o…] = x[N, (g · B + phase) · M + m, (o + begin) / blocks…]
// where phase numbers the remainders of the divisions, the last axis' fastest. `sizes` are the extents of the result's
// spatial axes. An element that would come from beyond x is 0.
struct DepthToSpaceOptions {
  int64_t groups = 1;
  std::vector<int64_t> blocks, begin, sizes;
};
Buffer depth_to_space(Builder& b, const Buffer& x, const DepthToSpaceOptions& options);

// x[…, indices[…], …] at `axis`. Negative indices count from the end; those out of range read the nearest
// element.
Buffer gather(Builder& b, const Buffer& x, const Buffer& indices, int axis);

}  // namespace tf::ops
