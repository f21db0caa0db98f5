#pragma once
// Owns: what computes elements one by one on GPUs: the threads of all blocks share all elements of a stage.

#include <string>
#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// A launch for each output of a workload that adds nothing up; all else is computed where it is read. A thread computes a few
// vectors of neighbours, a block of threads apart.
std::vector<Sketch> flat_on_gpu(const tensor::KernelSpec& kernel);

// The launch of one stage, `name`, with its body as it is by then: parts of it inlined. Returns the loop of its threads.
std::string append_flat_launch(const tensor::KernelSpec& kernel, const tensor::Stage& stage,
                               const std::string& name, Sketch& sketch);

}  // namespace tf::recipes
