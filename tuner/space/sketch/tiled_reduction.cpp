#include "tuner/space/sketch/tiled_reduction.h"

#include <algorithm>

#include "compiler/schedule/tiling.h"
#include "tuner/space/slots.h"

namespace tf::space {

int64_t extent_of(const tensor::Axis& axis) {
  return tensor::as_int(axis.extent).value_or(1);
}

TiledReductionFrame frame_of(const Problem& problem, const target::Target& target, int threads,
                             schedule::Producers producers) {
  TiledReductionFrame frame;
  frame.structure = schedule::structure_of(problem.workload);
  frame.prepared = schedule::append_preparation(problem.workload, frame.structure,
                                                {problem.in_layouts, problem.out_layouts}, target, threads,
                                                producers, frame.preparation);
  frame.default_tile = schedule::default_tile(
      problem.workload.stages[static_cast<size_t>(*frame.structure.anchor)], frame.prepared, target, threads);
  return frame;
}

Sketch tiled_reduction(std::string family, const Problem& problem, const TiledReductionFrame& frame,
                       TiledReductionSlots slots, int threads) {
  Sketch sketch;
  sketch.family = std::move(family);
  sketch.workload = std::make_shared<const tensor::Workload>(problem.workload);
  sketch.steps.steps = frame.preparation;

  schedule::RegisterTile tile;
  tile.reduction = frame.prepared.reduction;
  tile.output = frame.prepared.output;
  tile.vector_axis = frame.prepared.vector_axis;
  tile.lanes = frame.prepared.lanes;
  tile.parallel = threads > 1;
  tile.fused = frame.default_tile.fused;
  Point seed;
  for (size_t axis = 0; axis < slots.axes.size(); ++axis) {
    Slot& slot = slots.axes[axis];
    seed.push_back(ensure_choice(slot, {1, frame.default_tile.tiles[axis]}));
    const auto index = static_cast<int>(sketch.slots.size());
    tile.axes.push_back({schedule::Size::open(index, 0), schedule::Size::open(index, 1)});
    sketch.slots.push_back(std::move(slot));
  }
  for (size_t axis = 0; axis < slots.reduces.size(); ++axis) {
    Slot& slot = slots.reduces[axis];
    seed.push_back(ensure_choice(slot, {frame.default_tile.reduce_inner[axis]}));
    tile.reduce_inner.push_back(schedule::Size::open(static_cast<int>(sketch.slots.size()), 0));
    sketch.slots.push_back(std::move(slot));
  }
  schedule::append_register_tile(tile, sketch.steps.steps);
  sketch.steps.steps.push_back(
      schedule::Pragma{tile.reduction, schedule::PragmaKind::kUnrollLimit,
                       schedule::Size::open(static_cast<int>(sketch.slots.size()), 0)});
  seed.push_back(ensure_choice(slots.unroll, {0}));
  sketch.slots.push_back(std::move(slots.unroll));
  sketch.seeds.push_back(std::move(seed));
  return sketch;
}

Sketch generated_tiled_reduction(const Problem& problem, const target::Target& target, int threads,
                                 schedule::Producers producers) {
  const TiledReductionFrame frame = frame_of(problem, target, threads, producers);
  const tensor::Stage& anchor = problem.workload.stages[static_cast<size_t>(*frame.structure.anchor)];
  constexpr int64_t kMaxBlock = 512;
  TiledReductionSlots slots;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) {
    const bool vector = static_cast<int>(axis) == frame.prepared.vector_axis;
    int64_t extent = extent_of(anchor.axes[axis]);
    if (vector) extent = (extent + frame.prepared.lanes - 1) / frame.prepared.lanes;
    slots.axes.push_back(tile_slot(
        "tile_i" + std::to_string(axis), extent,
        {.parts = 2, .max_innermost = vector ? 8 : target.vector.registers, .max_inner_product = kMaxBlock}));
  }
  for (size_t axis = 0; axis < anchor.reduce_axes.size(); ++axis) {
    slots.reduces.push_back(tile_slot("inner_r" + std::to_string(axis), extent_of(anchor.reduce_axes[axis]),
                                      {.parts = 1, .max_innermost = 64}));
  }
  slots.unroll = scalar_slot("unroll", {0, 64, 256});
  return tiled_reduction("generated tiled-reduction", problem, frame, std::move(slots), threads);
}

}  // namespace tf::space
