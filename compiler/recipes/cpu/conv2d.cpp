#include "compiler/recipes/cpu/conv2d.h"

#include <algorithm>

#include "base/whole_division.h"
#include "compiler/recipes/emit/tiled_reduction.h"
#include "compiler/recipes/sizes/default_tile.h"
#include "compiler/recipes/sizes/parameters.h"

namespace tf::recipes {

namespace {

// Blocks that the caches may like: a few tiles.
std::vector<int64_t> block_choices(int64_t tiles) {
  std::vector<int64_t> choices;
  for (int64_t block : {1, 2, 4, 8}) {
    if (block <= tiles) choices.push_back(block);
  }
  return choices;
}

Parameter block_and_tile(const std::string& name, int64_t extent, const std::vector<int64_t>& tiles) {
  Parameter parameter{name, {}};
  for (int64_t tile : tiles) {
    if (tile > extent) continue;
    for (int64_t block : block_choices(ceil_div(extent, tile))) parameter.choices.push_back({block, tile});
  }
  return parameter;
}

// Lengths whose last tile is nearly full.
std::vector<int64_t> row_tiles(int64_t extent, int64_t limit) {
  std::vector<int64_t> tiles;
  for (int64_t tile = 1; tile <= std::min(extent, limit); ++tile) {
    const int64_t covered = round_up(extent, tile);
    if (tile == 1 || covered == extent || (covered - extent) * 10 <= extent) tiles.push_back(tile);
  }
  return tiles;
}

Sketch sketch_of(const tensor::KernelSpec& kernel, const tensor::Stage& anchor, int64_t lanes,
                 const ReductionForm& form) {
  ReductionChoices choices;
  choices.axes.push_back(Parameter{"tile_n", {{1, 1}}});
  choices.axes.push_back(
      block_and_tile("tile_oc", ceil_div(extent_of(anchor.axes[1]), lanes), {1, 2, 3, 4, 6}));
  choices.axes.push_back(block_and_tile("tile_h", extent_of(anchor.axes[2]), {1, 2, 3, 4, 7}));
  choices.axes.push_back(
      block_and_tile("tile_w", extent_of(anchor.axes[3]),
                     row_tiles(extent_of(anchor.axes[3]), kernel.target.vector.registers)));
  const int64_t channels = extent_of(anchor.reduce_axes[0]);
  std::vector<int64_t> inner;
  for (int64_t factor : {1, 2, 4, 8, 16, 32}) {
    if (channels % factor == 0) inner.push_back(factor);
  }
  choices.reduces.push_back(scalar_parameter("inner_ic", inner));
  for (size_t axis = 1; axis <= 2; ++axis) {
    std::vector<int64_t> window = {1};
    if (const int64_t extent = extent_of(anchor.reduce_axes[axis]); extent > 1) window.push_back(extent);
    choices.reduces.push_back(scalar_parameter(axis == 1 ? "inner_kh" : "inner_kw", window));
  }
  choices.unroll = scalar_parameter("unroll", {0, 64, 256});
  std::string family = "template conv2d";
  if (form.sums == Sums::kSerialSplitK) family += ", partial sums";
  return tiled_reduction(std::move(family), kernel, form, std::move(choices));
}

}  // namespace

bool is_conv2d(const tensor::KernelSpec& kernel, const Structure& structure) {
  if (!structure.anchor) return false;
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  const bool is_windowed = anchor.axes.size() == 4 && anchor.reduce_axes.size() == 3;
  // Channels innermost: what the choices are about.
  return is_windowed && anchor.combiner == tensor::Combiner::kSum && vector_axis(kernel, structure) == 1;
}

std::vector<Sketch> conv2d(const tensor::KernelSpec& kernel) {
  const Structure structure = structure_of(kernel.workload);
  if (!is_conv2d(kernel, structure)) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  std::vector<Sums> sums = {choose_product(kernel, structure).sums};
  // Weights of one vector beyond L1: parts of them may be worth a pass over the rows each.
  int64_t bytes = kernel.target.fp32_lanes() * tensor::element_bytes(anchor.output->element);
  for (const tensor::Axis& axis : anchor.reduce_axes) bytes *= extent_of(axis);
  if (bytes > kernel.target.caches.l1_bytes)
    sums.push_back(sums[0] == Sums::kWhole ? Sums::kSerialSplitK : Sums::kWhole);
  std::vector<Sketch> sketches;
  const int64_t lanes = prepared_frame(kernel, structure).lanes;
  for (ReductionForm form : reduction_forms(kernel, structure)) {
    for (Sums each : sums) {
      form.sums = each;
      sketches.push_back(sketch_of(kernel, anchor, lanes, form));
    }
  }
  return sketches;
}

}  // namespace tf::recipes
