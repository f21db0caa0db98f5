#include "tuner/space/templates/winograd.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/whole_division.h"
#include "compiler/schedule/tile_cost.h"
#include "compiler/schedule/winograd_tiling.h"
#include "tuner/space/parameters.h"

namespace tf::space {
namespace {

using schedule::Size;
using schedule::WinogradFrame;
using schedule::WinogradTiling;

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
        if (schedule::fits_registers(h * w, k, target)) parameter.choices.push_back({h, w, k});
      }
    }
  }
  return parameter;
}

// Adds a parameter of one part and gives its size; `value` is what the default takes.
Size open(Sketch& sketch, Point& seed, const char* name, const std::vector<int64_t>& values,
          const Size& value) {
  Parameter parameter = scalar_parameter(name, values);
  seed.push_back(ensure_choice(parameter, {value.value}));
  sketch.parameters.push_back(std::move(parameter));
  return Size::open(static_cast<int>(sketch.parameters.size()) - 1, 0);
}

Sketch sketch_of(const tensor::KernelSpec& spec, const WinogradFrame& frame, WinogradTiling tiling) {
  Sketch sketch;
  sketch.family = absl::StrCat("template winograd ", frame.tile);
  sketch.workload = std::make_shared<const tensor::Workload>(spec.workload);
  Point seed;
  tiling.block_h = open(sketch, seed, "block_h", lengths(frame.tiles_h), tiling.block_h);
  tiling.block_w = open(sketch, seed, "block_w", lengths(frame.tiles_w), tiling.block_w);
  const int64_t vectors = ceil_div(frame.out_channels, frame.lanes);
  std::vector<int64_t> blocks;
  for (int64_t block : {1, 2, 3, 4, 6, 8, 16})
    if (block <= vectors) blocks.push_back(block);
  tiling.block_k = open(sketch, seed, "block_k", blocks, tiling.block_k);
  tiling.reduce_inner = open(sketch, seed, "inner_c", {1, 4, frame.lanes}, tiling.reduce_inner);
  Parameter tiles = register_tiles(frame, spec.target);
  seed.push_back(ensure_choice(tiles, {tiling.rows_h.value, tiling.rows_w.value, tiling.rows_k.value}));
  const auto index = static_cast<int>(sketch.parameters.size());
  tiling.rows_h = Size::open(index, 0);
  tiling.rows_w = Size::open(index, 1);
  tiling.rows_k = Size::open(index, 2);
  sketch.parameters.push_back(std::move(tiles));
  schedule::append_winograd(frame, tiling, sketch.steps.steps);
  sketch.seeds.push_back(std::move(seed));
  return sketch;
}

}  // namespace

std::vector<Sketch> winograd_templates(const tensor::KernelSpec& spec) {
  const schedule::Structure structure = schedule::structure_of(spec.workload);
  const tensor::PortLayouts& ports = spec.ports;
  const int64_t first = schedule::choose_winograd_tile(spec.workload, structure, ports, spec.target);
  std::vector<Sketch> sketches;
  for (int64_t tile : {4, 2, 6}) {
    const std::optional<WinogradFrame> frame =
        schedule::winograd_frame(spec.workload, structure, ports, spec.target, tile);
    if (!frame) continue;
    WinogradTiling tiling = schedule::default_winograd_tiling(*frame, spec.target, spec.threads);
    Sketch sketch = sketch_of(spec, *frame, tiling);
    sketches.insert(tile == first ? sketches.begin() : sketches.end(), std::move(sketch));
    if (spec.threads < 2) continue;
    tiling.whole_input = !tiling.whole_input;
    sketches.push_back(sketch_of(spec, *frame, tiling));
  }
  return sketches;
}

}  // namespace tf::space
