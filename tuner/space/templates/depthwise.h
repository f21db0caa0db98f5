#pragma once
// Owns: the hand-written template of depthwise convolutions and pools: a window slides over each channel, so
// there is nothing to reuse across channels; parameters tile_c (vectors), tile_h, tile_w.

#include <optional>

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {

// Nothing unless the workload reduces a 4-d tensor over a window only, with channels innermost in memory.
std::optional<Sketch> depthwise_template(const tensor::KernelSpec& spec, const ReductionForm& form);

}  // namespace tf::space
