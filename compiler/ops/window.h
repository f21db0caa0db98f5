#pragma once
// Owns: what convolutions and pools share: a window that slides over the spatial axes (those after batch and
// channel), its result's extents, and padding as a stage of its own. Does not know: what is done in the
// window.

#include "compiler/ops/builder.h"

namespace tf::ops {

// One entry a spatial axis; an empty list means 1 (strides, dilations) or 0 (pads) everywhere.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
};

// The window with every list filled in; an empty message if it fits x, else what is wrong.
std::string complete(Window& window, const Buffer& x);

// floor_div(x + pads - reach, stride) + 1 of each spatial axis.
std::vector<Expr> slide_extents(const Window& window, const Buffer& x);

// x surrounded by `value`, as the stage "pad": select(in range, x, value); x itself if there is no
// padding.
Buffer pad_window(Builder& b, const Window& window, const Buffer& x, double value);

// The place in padded x that window element `k` of result element `o` sees, a spatial axis each.
Expr window_at(const Window& window, size_t axis, const Expr& o, const Expr& k);

// As pad_window, for every axis of x.
Buffer surround(Builder& b, const Buffer& x, std::span<const int64_t> begin, std::span<const int64_t> end,
                double value);

}  // namespace tf::ops
