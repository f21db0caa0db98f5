#pragma once
// Owns: the recipe of products of matrices (dense layers, GEMM): parameters tile_m, tile_n (vectors), inner_k; columns packed or
// not, sums whole or in parts.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

std::vector<Sketch> dense(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
