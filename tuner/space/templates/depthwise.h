#pragma once
// Owns: the hand-written template of depthwise convolutions and pools: a window slides over each channel, so
// there is nothing to reuse across channels; parameters tile_c (vectors), tile_h, tile_w.

#include <optional>

#include "compiler/schedule/default_tile.h"
#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// Nothing unless the workload reduces a 4-d tensor over a window only, with channels innermost in memory.
std::optional<Sketch> depthwise_template(const Problem& problem, const target::Target& target, int threads,
                                         schedule::Producers producers);

}  // namespace tf::space
