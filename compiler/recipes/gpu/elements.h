#pragma once
// Owns: the recipe of everything else on GPUs: a thread an element.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// One launch for all kernels but those with several outputs or with a result without axes.
std::vector<Sketch> elements_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
