#pragma once
// Owns: the recipe of workloads that run row by row (softmax, layer norm): vector length, partial results of folded reductions, rows
// folded at once and unrolling are open.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

std::vector<Sketch> rows(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
