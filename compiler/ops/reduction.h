#pragma once
// Owns: reductions over whole axes, softmax and the normalisations. Does not know: sliding windows.

#include "compiler/ops/builder.h"
#include "compiler/ops/kind.h"

namespace tf::ops {

// Folds the axes (each once, any order); they stay with extent 1 if keep_dims. Mean divides in a second
// stage; of whole numbers it is cut off. Minimum and maximum take bool, the others numbers. Halves are summed
// and multiplied in f32.
Buffer reduce(Builder& b, ReduceKind kind, const Buffer& x, std::vector<int64_t> axes, bool keep_dims);

// exp(x - max) · 1 / Σ exp(x - max) along an axis, or its logarithm. Stages: maximum, exponentials, sum, its
// inverse or logarithm, result.
Buffer softmax(Builder& b, const Buffer& x, int axis, bool log = false);

struct LrnOptions {
  int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1.0;
};
// x[N, C, …] / (bias + alpha / size · Σ x²)^beta, the sum over channels c - ⌊(size-1)/2⌋ … c + ⌈(size-1)/2⌉
// that exist (Krizhevsky et al. 2012, section 3.3, in ONNX's form).
Buffer lrn(Builder& b, const Buffer& x, LrnOptions options);

// (x - mean) / sqrt(variance + epsilon) · scale + bias, the four of rank 1 along axis 1 of x.
struct BatchNormOperands {
  Buffer scale, bias, mean, variance;
};
Buffer batch_norm(Builder& b, const Buffer& x, const BatchNormOperands& operands, double epsilon);

}  // namespace tf::ops
