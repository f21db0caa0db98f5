#include "compiler/recipes/cpu/reduction.h"

#include "absl/strings/str_cat.h"
#include "base/whole_division.h"
#include "compiler/recipes/cpu/conv2d.h"
#include "compiler/recipes/cpu/dense.h"
#include "compiler/recipes/emit/tiled_reduction.h"
#include "compiler/recipes/sizes/default_tile.h"
#include "compiler/recipes/sizes/parameters.h"

namespace tf::recipes {

std::vector<Sketch> reduction(const tensor::KernelSpec& kernel) {
  const Structure structure = structure_of(kernel.workload);
  if (!structure.anchor) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  const Prepared frame = prepared_frame(kernel, structure);
  constexpr int64_t kMaxBlock = 512;
  ReductionChoices choices;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) {
    const bool vector = static_cast<int>(axis) == frame.vector_axis;
    int64_t extent = extent_of(anchor.axes[axis]);
    if (vector) extent = ceil_div(extent, frame.lanes);
    choices.axes.push_back(tile_parameter(absl::StrCat("tile_i", axis), extent,
                                          {.parts = 2,
                                           .max_innermost = vector ? 8 : kernel.target.vector.registers,
                                           .max_inner_product = kMaxBlock}));
  }
  for (size_t axis = 0; axis < anchor.reduce_axes.size(); ++axis)
    choices.reduces.push_back(tile_parameter(absl::StrCat("inner_r", axis),
                                             extent_of(anchor.reduce_axes[axis]),
                                             {.parts = 1, .max_innermost = 64}));
  choices.unroll = scalar_parameter("unroll", {0, 64, 256});
  std::vector<Sums> all_sums = {Sums::kWhole};
  // Recipes of narrower families offer parts of sums where they match.
  const Sums chosen = choose_product(kernel, structure).sums;
  if (chosen != Sums::kWhole && !is_conv2d(kernel, structure) && !is_dense(kernel, structure))
    all_sums.insert(all_sums.begin(), chosen);
  std::vector<Sketch> sketches;
  for (ReductionForm form : reduction_forms(kernel, structure)) {
    for (const Sums sums : all_sums) {
      form.sums = sums;
      sketches.push_back(tiled_reduction("generated tiled-reduction", kernel, form, choices));
    }
  }
  return sketches;
}

}  // namespace tf::recipes
