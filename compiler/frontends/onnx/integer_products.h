#pragma once
// Owns: sums of products of stored integers, exact in i32, with zero points taken out: those of weights when
// the model is read where they are known, those of activations by what they add to each sum. Does not know:
// scales.

#include <optional>

#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {

// What a product is made of: Σ (a - a_zero) * (b - b_zero).
struct Factors {
  NodeId a, b;
  std::optional<NodeId> a_zero, b_zero;
  int64_t b_axis = 0;  // along which b's zero points stand
};

// a's zero points are one number, or one a row (of an a that is not transposed): those of rank 1 are made a
// column. Sets b_axis itself.
absl::StatusOr<NodeId> matmul_of(NodeReader& node, Factors f, const graph::MatMul& op = {});

// With the window that the node's attributes give. Padding stands for zero, which is stored as a's zero
// point.
absl::StatusOr<NodeId> conv_of(NodeReader& node, const Factors& f);

}  // namespace tf::onnx
