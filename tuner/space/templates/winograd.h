#pragma once
// Owns: the hand-written template of Winograd convolutions, one sketch a tile size: parameters block_h,
// block_w (tiles transformed at once), block_k (vectors of output channels multiplied at once), tile (the
// product's register tile) and inner_c.

#include <vector>

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// The sketch of the tile that the default schedule takes comes first. None unless the workload is a
// convolution that the step `winograd` takes, with channels innermost in memory.
std::vector<Sketch> winograd_templates(const tensor::KernelSpec& spec);

}  // namespace tf::space
