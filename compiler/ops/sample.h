#pragma once
// Owns: reading a feature map at computed places, as grid sampling and regions of interest do. Does not know: how places
// and weights are computed.

#include "compiler/ops/builder.h"

namespace tf::ops {

// x[N, C, S], batches[R], places i32[T, R, P], weights[T, R, P] in the element that x is summed in, or none:
//   y[r, c, p] = Σ over t of x[batches[r], c, places[t, r, p]] · weights[t, r, p]
// or with `greatest` the maximum over t. A negative place stands for 0; what lies beyond x reads the nearest element.
// Halves are summed in f32 and rounded in a second stage. T is a number. Label: sample.
struct SampleOperands {
  Buffer x, batches, places, weights;
};
Buffer sample(Builder& b, const SampleOperands& operands, bool greatest);

}  // namespace tf::ops
