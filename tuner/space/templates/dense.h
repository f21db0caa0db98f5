#pragma once
// Owns: the hand-written template of matrix products (dense layers, GEMM): parameters tile_m, tile_n
// (vectors), block_m, block_n, inner_k.

#include <vector>

#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {

// A sketch a form: columns packed or not, sums whole or in parts; the default schedule's form first. None
// unless the workload is a product of matrices, or one sum over one axis of a matrix.
std::vector<Sketch> dense_templates(const tensor::KernelSpec& spec, const ReductionForm& form);

}  // namespace tf::space
