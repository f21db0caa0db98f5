#include "tuner/space/templates/dense.h"

#include <algorithm>

#include "tuner/space/sketch/tiled_reduction.h"
#include "tuner/space/slots.h"

namespace tf::space {
namespace {

// Blocks of rows for the caches, tiles of rows for the registers.
Slot rows_slot(int64_t extent, int64_t registers) {
  Slot slot{"tile_m", {}};
  for (int64_t tile = 1; tile <= std::min(extent, registers); ++tile) {
    const int64_t covered = (extent + tile - 1) / tile * tile;
    if (tile > 1 && (covered - extent) * 10 > extent) continue;
    for (int64_t block : {1, 2, 4, 8, 16}) {
      if (block * tile <= covered) slot.choices.push_back({block, tile});
    }
  }
  return slot;
}

}  // namespace

std::optional<Sketch> dense_template(const Problem& problem, const target::Target& target, int threads,
                                     schedule::Producers producers) {
  const schedule::Structure structure = schedule::structure_of(problem.workload);
  if (!structure.anchor) return std::nullopt;
  const tensor::Stage& anchor = problem.workload.stages[static_cast<size_t>(*structure.anchor)];
  if (anchor.axes.size() != 2 || anchor.reduce_axes.size() != 1) return std::nullopt;
  const TiledReductionFrame frame = frame_of(problem, target, threads, producers);
  if (frame.prepared.vector_axis != 1) return std::nullopt;

  const int64_t vectors = (extent_of(anchor.axes[1]) + frame.prepared.lanes - 1) / frame.prepared.lanes;
  TiledReductionSlots slots;
  slots.axes.push_back(rows_slot(extent_of(anchor.axes[0]), target.vector.registers));
  slots.axes.push_back(
      tile_slot("tile_n", vectors, {.parts = 2, .max_innermost = 8, .max_inner_product = 64}));
  slots.reduces.push_back(
      tile_slot("inner_k", extent_of(anchor.reduce_axes[0]), {.parts = 1, .max_innermost = 16}));
  slots.unroll = scalar_slot("unroll", {0, 64, 256});
  return tiled_reduction("template dense", problem, frame, std::move(slots), threads);
}

}  // namespace tf::space
