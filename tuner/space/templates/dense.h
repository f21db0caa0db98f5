#pragma once
// Owns: the hand-written template of matrix products (dense layers, GEMM): parameters tile_m, tile_n
// (vectors), block_m, block_n, inner_k.

#include <optional>

#include "compiler/schedule/default_schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// Nothing unless the workload is one sum over one axis of a matrix.
std::optional<Sketch> dense_template(const Problem& problem, const target::Target& target, int threads,
                                     schedule::Producers producers);

}  // namespace tf::space
