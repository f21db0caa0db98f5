#pragma once
// Owns: the recipe of everything else on GPUs: a launch for each stage.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// A thread computes one element of a stage, or a few neighbours, with all that a reduction adds up for it. Stages that
// are cheap to compute where they are read have no launch. Of every kernel but those without any axis.
std::vector<Sketch> stages_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
