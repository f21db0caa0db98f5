#pragma once
// Owns: transposes on GPUs: reads and writes both along memory, by way of tiles in shared memory.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Of one output without sums that reads inputs along another axis than it is stored: a block fills a tile of each of these inputs, a
// row of threads after the other along the input's memory, and reads it along the output's. Tiles have padded rows, so that
// threads that go down a column touch different banks.
std::vector<Sketch> transposes_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
