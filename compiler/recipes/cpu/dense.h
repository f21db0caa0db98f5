#pragma once
// Owns: the recipe of products of matrices (dense layers, GEMM): parameters tile_m, tile_n (vectors), inner_k; columns packed or
// not, sums whole or in parts.

#include <vector>

#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/sketch.h"

namespace tf::recipes {

bool is_dense(const tensor::KernelSpec& kernel, const Structure& structure);

std::vector<Sketch> dense(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
