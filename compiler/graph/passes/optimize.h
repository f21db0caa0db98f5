#pragma once
// Owns: the passes that every network goes through before it is cut into kernels, and their table. Does not
// know: folding of constants (fold.h), dead code (rewrite.h).

#include <functional>
#include <span>
#include <string_view>

#include "compiler/graph/graph.h"

namespace tf::graph {

// Pass. Before → after:
//   identity(x)                       → x
//   reshape(reshape(x))               → one reshape
//   reshape to x's own extents        → x
//   transpose by 0, 1, 2, …           → x
//   slice that takes everything       → x
//   pad by 0                          → x
//   expand to x's own extents         → x
//   cast to x's own element           → x
//   transpose of a transpose, slice of a slice → one
//   transpose that moves only axes of one element → reshape
//   reshape(transpose(x)) that drops axes of one element → transpose(reshape(x))
//   matmul(a, transpose(x)ᵀ)          → matmul(a, transpose'(x))
//   gather of evenly spaced elements  → slice
//   add(x, expand(y)) of x's extents  → add(x, y), and so of all element-wise operators of several operands
Graph remove_identities(const Graph& graph);

// Pass. batch_norm(x, scale, bias, mean, variance) → x * s + (bias - mean * s) with s = scale / sqrt(variance
// + eps), s and the shift of shape [C, 1, …], which constant folding turns into constants.
Graph expand_batch_norms(const Graph& graph);

// Pass. div(x, c) → mul(x, 1/c) where that is exact: constants whose elements are powers of two.
Graph multiply_by_reciprocals(const Graph& graph);

// Pass. Where the weights are constant and nothing else reads the product:
//   mul(conv(x, w, b), s), s constant, one value or one a channel → conv(x, w * s, b * s)
//   add(conv(x, w, b), t), t likewise                             → conv(x, w, b + t)
//   mul(matmul(x, w), s), s constant, one value or one a column   → matmul(x, w * s)
// Weights are rounded to their element type once. It takes the graph's weights as it goes.
Graph fold_affine(Graph graph);

// Pass. If the first operands of a concatenation are already joined by another one, it takes that one's
// result in their place. Each operand is then part of one concatenation and can be made in place there. Dense
// blocks need this: every layer reads all layers before it.
//   c = concat(a, b), d = concat(a, b, x)   →   c = concat(a, b), d = concat(c, x)
Graph share_concats(const Graph& graph);

// Pass. Element-wise operators of one operand, or of one known number beside it, move before reshapes and transposes of
// what a kernel computes that can compute them too.
//   mul(transpose(add(matmul(x, w), b)), 0.125) → transpose(mul(add(matmul(x, w), b), 0.125))
Graph hoist_numbers(const Graph& graph);

// Pass. A constant between two reshapes takes the shape before them, so that the reshapes meet.
//   reshape(add(reshape(x), mask)) → reshape(reshape(add(x, mask')))
Graph sink_reshapes(const Graph& graph);

// Pass. A product of which parts are read, to be moved or multiplied, becomes a product for each part.
//   slice(add(matmul(x, w), b)) → add(matmul(x, slice(w)), slice(b)), also through reshapes and transposes
Graph split_products(const Graph& graph);

// Pass. concat of slices of x along one axis → gather(x), where rows of elements lie behind the axis.
Graph gather_parts(const Graph& graph);

struct Pass {
  const char* name;
  Graph (*run)(Graph);
};
std::span<const Pass> passes();

struct OptimizeOptions {
  bool verify_each = false;  // CHECK that each pass leaves a valid graph
  std::function<void(std::string_view pass, const Graph&)> after;  // called after each pass of passes()
};

// The graph after all passes: the same function of its inputs up to rounding.
Graph optimize(Graph graph, const OptimizeOptions& options = {});

}  // namespace tf::graph
