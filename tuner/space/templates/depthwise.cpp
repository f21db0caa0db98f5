#include "tuner/space/templates/depthwise.h"

#include "base/whole_division.h"
#include "tuner/space/parameters.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {

std::optional<Sketch> depthwise_template(const tensor::KernelSpec& spec, const ReductionForm& form) {
  const schedule::Structure structure = schedule::structure_of(spec.workload);
  if (!structure.anchor) return std::nullopt;
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*structure.anchor)];
  if (anchor.axes.size() != 4 || anchor.reduce_axes.size() != 2) return std::nullopt;
  const TiledReductionFrame frame = frame_of(spec, form);
  if (frame.prepared.vector_axis != 1) return std::nullopt;

  const int64_t vectors = ceil_div(extent_of(anchor.axes[1]), frame.prepared.lanes);
  TiledReductionParameters parameters;
  parameters.axes.push_back(Parameter{"tile_n", {{1, 1}}});
  parameters.axes.push_back(
      tile_parameter("tile_c", vectors, {.parts = 2, .max_innermost = 2, .max_inner_product = 8}));
  parameters.axes.push_back(tile_parameter("tile_h", extent_of(anchor.axes[2]),
                                           {.parts = 2, .max_innermost = 4, .max_inner_product = 16}));
  parameters.axes.push_back(tile_parameter(
      "tile_w", extent_of(anchor.axes[3]),
      {.parts = 2, .max_innermost = spec.target.vector.registers / 2, .max_inner_product = 64}));
  for (size_t axis = 0; axis < 2; ++axis) {
    // A window that is inner whole can be unrolled whole.
    parameters.reduces.push_back(
        scalar_parameter(axis == 0 ? "inner_kh" : "inner_kw", {1, extent_of(anchor.reduce_axes[axis])}));
  }
  parameters.unroll = scalar_parameter("unroll", {0, 128, 512});
  return tiled_reduction("template depthwise", spec, frame, std::move(parameters));
}

}  // namespace tf::space
