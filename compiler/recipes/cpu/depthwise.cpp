#include "compiler/recipes/cpu/depthwise.h"

#include "base/whole_division.h"
#include "compiler/recipes/emit/tiled_reduction.h"
#include "compiler/recipes/sizes/parameters.h"

namespace tf::recipes {

std::vector<Sketch> depthwise(const tensor::KernelSpec& kernel) {
  const Structure structure = structure_of(kernel.workload);
  if (!structure.anchor) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  if (anchor.axes.size() != 4 || anchor.reduce_axes.size() != 2) return {};
  const Prepared frame = prepared_frame(kernel, structure);
  if (frame.vector_axis != 1) return {};

  const int64_t vectors = ceil_div(extent_of(anchor.axes[1]), frame.lanes);
  ReductionChoices choices;
  choices.axes.push_back(Parameter{"tile_n", {{1, 1}}});
  choices.axes.push_back(
      tile_parameter("tile_c", vectors, {.parts = 2, .max_innermost = 2, .max_inner_product = 8}));
  choices.axes.push_back(tile_parameter("tile_h", extent_of(anchor.axes[2]),
                                        {.parts = 2, .max_innermost = 4, .max_inner_product = 16}));
  choices.axes.push_back(tile_parameter(
      "tile_w", extent_of(anchor.axes[3]),
      {.parts = 2, .max_innermost = kernel.target.vector.registers / 2, .max_inner_product = 64}));
  for (size_t axis = 0; axis < 2; ++axis) {
    // A window that is inner whole can be unrolled whole.
    choices.reduces.push_back(
        scalar_parameter(axis == 0 ? "inner_kh" : "inner_kw", {1, extent_of(anchor.reduce_axes[axis])}));
  }
  choices.unroll = scalar_parameter("unroll", {0, 128, 512});
  std::vector<Sketch> sketches;
  for (const ReductionForm& form : reduction_forms(kernel, structure))
    sketches.push_back(tiled_reduction("template depthwise", kernel, form, choices));
  return sketches;
}

}  // namespace tf::recipes
