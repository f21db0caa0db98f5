#pragma once
// Owns: folding of operators that only move elements (reshape, transpose, slice, concat, …), whatever the
// element type.

#include <span>

#include "compiler/graph/graph.h"

namespace tf::graph {

// As graph::fold, for reshape, expand, transpose, slice, pad, concat and gather; null for others.
BlobRef fold_move(const Graph& graph, const Op& op, std::span<const NodeId> inputs, const TensorType& result);

// Row-major strides; 0 for axes that broadcast when `shape` is read as `result_rank` axes of `result`.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> result);

// Calls f(position in row-major order, coordinates) for each element of the shape.
template <typename F>
void for_each_element(std::span<const int64_t> shape, F&& f) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<int64_t> at(shape.size());
  for (int64_t i = 0; i < count; ++i) {
    f(i, at);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace tf::graph
