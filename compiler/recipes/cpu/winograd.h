#pragma once
// Owns: the recipes of Winograd convolutions, one sketch a tile size: parameters block_h, block_w (tiles transformed at
// once), block_k (vectors of output channels multiplied at once), tile (the product's register tile) and inner_c.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Of convolutions that the step `winograd` takes, with channels innermost in memory, where the kernel allows it: those
// that take less time so than by the definition, by estimate, and all others.
std::vector<Sketch> faster_winograd(const tensor::KernelSpec& kernel);
std::vector<Sketch> slower_winograd(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
