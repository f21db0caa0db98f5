#pragma once
// Owns: the sketch of a register-tiled reduction with fused epilogue, which the recipes of reductions fill with choices.

#include <string>
#include <vector>

#include "compiler/recipes/emit/preparation.h"
#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Choices of sizes beside the default ones.
struct ReductionChoices {
  std::vector<Parameter> axes;  // one an output axis, two parts: tiles a block, elements (or vectors) a tile
  std::vector<Parameter> reduces;  // one a reduce axis, one part: the inner factor
  Parameter unroll;                // one part: statements that unrolling the reduction's inner loops may make
};

// The kernel must have an anchor. Defaults are the default tile (default_tile.h) and what suits a product.
Sketch tiled_reduction(std::string family, const tensor::KernelSpec& kernel, const ReductionForm& form,
                       ReductionChoices choices);

}  // namespace tf::recipes
