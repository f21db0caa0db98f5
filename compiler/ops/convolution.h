#pragma once
// Owns: convolutions (cross-correlations) over one to three spatial axes. Does not know: layouts, tilings.

#include "compiler/ops/builder.h"

namespace tf::ops {

// One entry a spatial axis; an empty list means 1 (strides, dilations) or 0 (pads) everywhere.
struct ConvOptions {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  int64_t groups = 1;
};

// x[N, C, spatial…], w[M, C / groups, kernel…] → [N, M, spatial…]. Stages: "pad" (only if there is padding),
// then
//   conv[n, m, o…] = Σ over c, k… of pad[n, group(m) + c, o * stride + k * dilation] * w[m, c, k…]
// with reduce axes c, k… in this order; if groups = C > 1 (depthwise) only k…, and channel m / (M / C).
// f16 and bf16 accumulate in f32 and are rounded by one more stage; i8 and u8 give i32.
// Labels: conv1d, conv2d, conv3d, depthwise_conv2d, grouped_conv2d, ….
Buffer conv(Builder& b, const Buffer& x, const Buffer& w, const ConvOptions& options = {});

}  // namespace tf::ops
