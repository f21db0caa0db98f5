#pragma once
// Owns: the recipe of dense convolutions over channels and a window: parameters tile_oc (vectors), tile_h, tile_w, inner_ic, …, with
// the tile shapes that keep accumulators in registers and the FMA pipes busy; summed whole, or in parts of the channels.

#include <vector>

#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/sketch.h"

namespace tf::recipes {

bool is_conv2d(const tensor::KernelSpec& kernel, const Structure& structure);

std::vector<Sketch> conv2d(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
