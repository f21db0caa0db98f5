#include "tuner/space/sketch/tiled_reduction.h"

#include <algorithm>

#include "base/whole_division.h"
#include "compiler/schedule/operand_storage.h"
#include "compiler/schedule/tiling.h"
#include "tuner/space/parameters.h"

namespace tf::space {
namespace {

// Of a reduction of that length: parts that leave more than one of them.
Parameter partial_sum_parameter(int64_t extent) {
  Parameter parameter{"partial_sum", {}};
  for (int64_t length = 8; length < extent && length <= 4096; length *= 2)
    parameter.choices.push_back({length});
  return parameter;
}

}  // namespace

TiledReductionFrame frame_of(const tensor::KernelSpec& spec, const ReductionForm& form) {
  TiledReductionFrame frame;
  frame.form = form;
  frame.structure = schedule::structure_of(spec.workload);
  const tensor::PortLayouts& ports = spec.ports;
  frame.default_product =
      schedule::choose_product(spec.workload, frame.structure, ports, spec.target, spec.threads);
  const bool in_parts = form.sums != schedule::Sums::kWhole;
  const schedule::Size partial_sum = in_parts ? schedule::Size::open(0, 0) : schedule::Size(0);
  frame.prepared = schedule::append_preparation(
      spec.workload, frame.structure, ports, spec.target, spec.threads,
      {.producers = form.producers,
       .sums = form.sums,
       .partial_sum = partial_sum,
       .storage = form.storage,
       .columns = form.pack ? schedule::Columns::kPacked : schedule::Columns::kAsGiven},
      frame.preparation);
  frame.default_tile =
      schedule::default_tile(spec.workload.stages[static_cast<size_t>(*frame.structure.anchor)],
                             frame.prepared, spec.target, spec.threads);
  return frame;
}

Sketch tiled_reduction(std::string family, const tensor::KernelSpec& spec, const TiledReductionFrame& frame,
                       TiledReductionParameters parameters) {
  Sketch sketch;
  sketch.family = std::move(family);
  if (frame.form.storage == schedule::Storage::kBFloat16) sketch.family += ", bf16";
  if (frame.form.storage == schedule::Storage::kFloat16) sketch.family += ", fp16";
  sketch.workload = std::make_shared<const tensor::Workload>(spec.workload);
  sketch.steps.steps = frame.preparation;
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*frame.structure.anchor)];

  Point seed;
  auto add = [&](Parameter parameter, const std::vector<int64_t>& choice) {
    seed.push_back(ensure_choice(parameter, choice));
    sketch.parameters.push_back(std::move(parameter));
    return static_cast<int>(sketch.parameters.size()) - 1;
  };
  if (frame.form.sums != schedule::Sums::kWhole) {  // the parameter that the preparation refers to
    const int64_t extent = extent_of(anchor.reduce_axes.front());
    const bool chosen = frame.default_product.sums == frame.form.sums;
    const int64_t part = frame.form.sums == schedule::Sums::kParallelSplitK
                             ? ceil_div(extent, spec.threads)
                             : std::min<int64_t>(1024, (extent + 1) / 2);
    add(partial_sum_parameter(extent), {chosen ? frame.default_product.partial_sum : part});
  }
  std::vector<schedule::AxisTile> axes;
  for (size_t axis = 0; axis < parameters.axes.size(); ++axis) {
    const int parameter = add(std::move(parameters.axes[axis]),
                              {frame.default_tile.blocks[axis], frame.default_tile.tiles[axis]});
    axes.push_back({schedule::Size::open(parameter, 0), schedule::Size::open(parameter, 1)});
  }
  schedule::Size vectors = axes[static_cast<size_t>(frame.prepared.vector_axis)].tile;
  schedule::RegisterTile tile =
      schedule::register_tile(anchor, frame.prepared, std::move(axes), frame.default_tile.fused);
  tile.parallel = spec.threads > 1;
  for (size_t axis = 0; axis < parameters.reduces.size(); ++axis) {
    const int parameter = add(std::move(parameters.reduces[axis]), {frame.default_tile.reduce_inner[axis]});
    tile.reduce_inner.push_back(schedule::Size::open(parameter, 0));
  }
  if (frame.default_product.panel_vectors > 0)
    vectors = schedule::Size::open(
        add(scalar_parameter("panel", {1, 2, 4, 8}), {frame.default_product.panel_vectors}), 0);
  schedule::append_operand_storage(spec.workload, frame.structure, frame.prepared, vectors, frame.form.pack,
                                   tile.parallel, sketch.steps.steps);
  schedule::append_register_tile(tile, sketch.steps.steps);
  const int unroll = add(std::move(parameters.unroll), {frame.default_tile.unroll});
  sketch.steps.steps.push_back(
      schedule::Pragma{tile.reduction, schedule::PragmaKind::kUnrollLimit, schedule::Size::open(unroll, 0)});
  sketch.seeds.push_back(std::move(seed));
  return sketch;
}

Sketch generated_tiled_reduction(const tensor::KernelSpec& spec, const ReductionForm& form) {
  const TiledReductionFrame frame = frame_of(spec, form);
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*frame.structure.anchor)];
  constexpr int64_t kMaxBlock = 512;
  TiledReductionParameters parameters;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) {
    const bool vector = static_cast<int>(axis) == frame.prepared.vector_axis;
    int64_t extent = extent_of(anchor.axes[axis]);
    if (vector) extent = ceil_div(extent, frame.prepared.lanes);
    parameters.axes.push_back(tile_parameter("tile_i" + std::to_string(axis), extent,
                                             {.parts = 2,
                                              .max_innermost = vector ? 8 : spec.target.vector.registers,
                                              .max_inner_product = kMaxBlock}));
  }
  for (size_t axis = 0; axis < anchor.reduce_axes.size(); ++axis) {
    parameters.reduces.push_back(tile_parameter("inner_r" + std::to_string(axis),
                                                extent_of(anchor.reduce_axes[axis]),
                                                {.parts = 1, .max_innermost = 64}));
  }
  parameters.unroll = scalar_parameter("unroll", {0, 64, 256});
  return tiled_reduction("generated tiled-reduction", spec, frame, std::move(parameters));
}

}  // namespace tf::space
