#pragma once
// Owns: which element of x a reshaped x has at a place, with as little division as possible. Does not know:
// stages.
//
// Both shapes are cut into the smallest runs of axes with equal products: [N, C, H, W] → [N, C * H * W] is N
// | C, H, W against N | C*H*W. A run of one axis on both sides keeps its index; others go through the run's
// own flat index.

#include "compiler/ops/builder.h"

namespace tf::ops {

// Whether both shapes have the same number of elements for every binding.
bool same_element_count(const std::vector<Expr>& a, const std::vector<Expr>& b);

// The indices into a tensor of extents `from` that the place `indices` of its reshape to extents `to` reads.
std::vector<Expr> reshape_indices(const std::vector<Expr>& from, const std::vector<Expr>& to,
                                  Indices indices);

}  // namespace tf::ops
