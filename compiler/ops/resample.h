#pragma once
// Owns: reading axes through tables of indices and weights: resizing, padding by reflection, sums of overlapping
// windows. Does not know: how the tables come about.

#include "compiler/ops/builder.h"

namespace tf::ops {

// Place o along the axis sees x's elements indices[t, o], t < taps, each times weights[t, o] if there are weights.
struct TableAxis {
  int axis = 0;
  Buffer indices;  // i32[taps, extent], each within x
  Buffer weights;  // of the indices' extents, in the element that x is summed in; null: 1
};

// y[…, o, …] = Σ over taps of x[…, indices[t, o], …] · weights[t, o], products of taps where there are several axes.
// One stage: sums of up to kMostUnrolledTaps taps are written out, longer ones, of a single axis, are a reduction.
// Sums of halves are made in f32 and rounded in a second stage. The axes' extents are numbers.
// Label: resample.
inline constexpr int64_t kMostUnrolledTaps = 16;
Buffer resample(Builder& b, const Buffer& x, const std::vector<TableAxis>& axes);

}  // namespace tf::ops
