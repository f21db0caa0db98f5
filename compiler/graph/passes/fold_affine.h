#pragma once
// Owns: folding of scales and shifts, batch normalisation first of all, into the weights before them.

#include "compiler/graph/graph.h"

namespace tf::graph {

// Pass. batch_norm(x, scale, bias, mean, variance) → x * s + (bias - mean * s) with s = scale / sqrt(variance
// + eps), s and the shift of shape [C, 1, …], which constant folding turns into constants.
Graph expand_batch_norms(const Graph& graph);

// Pass. div(x, c) → mul(x, 1/c) where that is exact: constants whose elements are powers of two.
Graph multiply_by_reciprocals(const Graph& graph);

// Pass. Where the weights are constant and nothing else reads the product:
//   mul(conv(x, w, b), s), s constant, one value or one a channel → conv(x, w * s, b * s)
//   add(conv(x, w, b), t), t likewise                             → conv(x, w, b + t)
//   mul(matmul(x, w), s), s constant, one value or one a column   → matmul(x, w * s)
// Weights are rounded to their element type once.
Graph fold_affine(const Graph& graph);

}  // namespace tf::graph
