#pragma once
// Owns: the loops of a stage that is computed by itself, with sizes that suit it. Does not know: what is
// computed before or after it.

#include <string>

#include "compiler/recipes/emit/tiling.h"
#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::recipes {

// Whether the stage is work enough to wake threads for.
bool worth_threads(const tensor::Stage& stage, int threads);

// How such a stage is computed: in vectors along the axis that is innermost in `layout`, or in squares where elements
// are only moved to another order; in parallel if that is worth it. `name` is the stage's.
FlatLoops flat_loops(const tensor::KernelSpec& kernel, const tensor::Stage& stage, const std::string& name,
                     const tensor::Layout& layout);

}  // namespace tf::recipes
