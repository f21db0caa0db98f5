#pragma once
// Owns: the recipe of depthwise convolutions and pools: a window slides over each channel, so there is nothing to reuse across
// channels; parameters tile_c (vectors), tile_h, tile_w.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

std::vector<Sketch> depthwise(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
