#include "compiler/recipes/cpu/winograd.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/whole_division.h"
#include "compiler/recipes/emit/winograd.h"
#include "compiler/recipes/sizes/parameters.h"
#include "compiler/recipes/sizes/tile_cost.h"

namespace tf::recipes {

namespace {

// Lengths up to the extent: small ones, and those that cover it in equal parts.
std::vector<int64_t> lengths(int64_t extent) {
  std::vector<int64_t> all;
  for (int64_t length = 1; length <= extent; ++length) {
    const int64_t parts = ceil_div(extent, length);
    if (length <= 4 || parts * (length - 1) < extent) all.push_back(length);
  }
  return all;
}

// Register tiles whose last ones are nearly full and whose accumulators fit.
Parameter register_tiles(const WinogradFrame& frame, const target::Target& target) {
  Parameter parameter{"tile", {}};
  const int64_t vectors = ceil_div(frame.out_channels, frame.lanes);
  auto wasteful = [](int64_t extent, int64_t tile) { return (round_up(extent, tile) - extent) * 4 > extent; };
  for (int64_t k : {1, 2, 3, 4, 6, 8}) {
    for (int64_t h = 1; h <= std::min<int64_t>(frame.tiles_h, 8); ++h) {
      for (int64_t w = 1; w <= std::min<int64_t>(frame.tiles_w, target.vector.registers); ++w) {
        if (k > vectors || wasteful(frame.tiles_h, h) || wasteful(frame.tiles_w, w) || wasteful(vectors, k))
          continue;
        if (fits_registers(h * w, k, target)) parameter.choices.push_back({h, w, k});
      }
    }
  }
  return parameter;
}

Sketch sketch_of(const tensor::KernelSpec& kernel, const WinogradFrame& frame, WinogradTiling tiling) {
  Sketch sketch(absl::StrCat("template winograd ", frame.tile), kernel);
  const int64_t vectors = ceil_div(frame.out_channels, frame.lanes);
  std::vector<int64_t> blocks;
  for (int64_t block : {1, 2, 3, 4, 6, 8, 16})
    if (block <= vectors) blocks.push_back(block);
  tiling.block_h = sketch.open("block_h", lengths(frame.tiles_h), tiling.block_h.value);
  tiling.block_w = sketch.open("block_w", lengths(frame.tiles_w), tiling.block_w.value);
  tiling.block_k = sketch.open("block_k", blocks, tiling.block_k.value);
  tiling.reduce_inner = sketch.open("inner_c", {1, 4, frame.lanes}, tiling.reduce_inner.value);
  const std::vector<Size> tile = sketch.open(register_tiles(frame, kernel.target),
                                             {tiling.rows_h.value, tiling.rows_w.value, tiling.rows_k.value});
  tiling.rows_h = tile[0];
  tiling.rows_w = tile[1];
  tiling.rows_k = tile[2];
  append_winograd(frame, tiling, sketch.steps.steps);
  return sketch;
}

// The tile with the least estimated time comes first.
std::vector<Sketch> sketches_of(const tensor::KernelSpec& kernel, int64_t fastest) {
  std::vector<Sketch> sketches;
  for (int64_t tile : {4, 2, 6}) {
    const std::optional<WinogradFrame> frame = winograd_frame(kernel, tile);
    if (!frame) continue;
    WinogradTiling tiling = default_winograd_tiling(*frame, kernel.target, kernel.threads);
    sketches.insert(tile == fastest ? sketches.begin() : sketches.end(), sketch_of(kernel, *frame, tiling));
    if (kernel.threads < 2) continue;
    tiling.whole_input = !tiling.whole_input;
    sketches.push_back(sketch_of(kernel, *frame, tiling));
  }
  return sketches;
}

}  // namespace

std::vector<Sketch> faster_winograd(const tensor::KernelSpec& kernel) {
  if (!schedule::allows(kernel.allowed, schedule::kWinograd)) return {};
  const int64_t fastest = choose_winograd_tile(kernel);
  return fastest > 0 ? sketches_of(kernel, fastest) : std::vector<Sketch>{};
}

std::vector<Sketch> slower_winograd(const tensor::KernelSpec& kernel) {
  if (!schedule::allows(kernel.allowed, schedule::kWinograd)) return {};
  return choose_winograd_tile(kernel) == 0 ? sketches_of(kernel, 0) : std::vector<Sketch>{};
}

}  // namespace tf::recipes
