#pragma once
// Owns: the hand-written template of dense convolutions: parameters tile_oc (vectors), tile_w, tile_h,
// block_oc, block_h, inner_ic, unroll, with the tile shapes that keep accumulators in registers and the FMA
// pipes busy.

#include <vector>

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {

// Sketches for a convolution of an activation with a constant over channels and a window, summed whole or in
// parts of the channels; the form that the default schedule takes comes first. None for other workloads.
std::vector<Sketch> conv2d_templates(const tensor::KernelSpec& spec, const ReductionForm& form);

}  // namespace tf::space
