#pragma once
// Owns: the recipe of everything else on GPUs: a launch for each stage.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// A thread computes one element of a stage that adds up, in a register, or some of another (flat.h). Stages that are cheap to
// compute where they are read have no launch; nor has what follows from one sum element by element. Of every kernel but those
// without any axis.
std::vector<Sketch> stages_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
