#pragma once
// Owns: the recipe of any workload with one reduction: every axis may be tiled in any way that registers allow.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

std::vector<Sketch> reduction(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
