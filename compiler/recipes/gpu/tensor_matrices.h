#pragma once
// Owns: the recipe of sums of products that become products of gathered matrices, by matrix instructions: convolutions (implicit
// GEMM), and products in parts. Does not know: how instructions are printed.

#include <vector>

#include "compiler/recipes/gpu/tensor_product.h"
#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Convolutions y[n, o, …] = Σ over c and a window, without groups, and products whose blocks are too few for a GPU: then
// the terms are added up in parts, and these by a second launch, in one order. Element types and numerics as in
// tensor_product_on_gpu. The tile is open, and the terms of a part.
std::vector<Sketch> tensor_matrices_on_gpu(const tensor::KernelSpec& kernel);
// With that tile; in parts of so many terms (0: at once).
std::vector<Sketch> tensor_matrices_on_gpu(const tensor::KernelSpec& kernel, const TensorTile& tile,
                                           int64_t part);
// Those that are slower by estimate.
std::vector<Sketch> more_tensor_matrices_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
