#include "tuner/space/templates/conv2d.h"

#include <algorithm>

#include "base/whole_division.h"
#include "tuner/space/parameters.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {
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

Sketch conv2d_template(const tensor::KernelSpec& spec, const ReductionForm& form) {
  const TiledReductionFrame frame = frame_of(spec, form);
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*frame.structure.anchor)];
  const int64_t vectors = ceil_div(extent_of(anchor.axes[1]), frame.prepared.lanes);
  TiledReductionParameters parameters;
  parameters.axes.push_back(Parameter{"tile_n", {{1, 1}}});
  parameters.axes.push_back(block_and_tile("tile_oc", vectors, {1, 2, 3, 4, 6}));
  parameters.axes.push_back(block_and_tile("tile_h", extent_of(anchor.axes[2]), {1, 2, 3, 4, 7}));
  parameters.axes.push_back(
      block_and_tile("tile_w", extent_of(anchor.axes[3]),
                     row_tiles(extent_of(anchor.axes[3]), spec.target.vector.registers)));
  const int64_t channels = extent_of(anchor.reduce_axes[0]);
  std::vector<int64_t> inner;
  for (int64_t factor : {1, 2, 4, 8, 16, 32}) {
    if (channels % factor == 0) inner.push_back(factor);
  }
  parameters.reduces.push_back(scalar_parameter("inner_ic", inner));
  for (size_t axis = 1; axis <= 2; ++axis) {
    std::vector<int64_t> window = {1};
    if (const int64_t extent = extent_of(anchor.reduce_axes[axis]); extent > 1) window.push_back(extent);
    parameters.reduces.push_back(scalar_parameter(axis == 1 ? "inner_kh" : "inner_kw", window));
  }
  parameters.unroll = scalar_parameter("unroll", {0, 64, 256});
  std::string family = "template conv2d";
  if (form.sums == schedule::Sums::kSerialSplitK) family += ", partial sums";
  return tiled_reduction(std::move(family), spec, frame, std::move(parameters));
}

}  // namespace

std::vector<Sketch> conv2d_templates(const tensor::KernelSpec& spec, const ReductionForm& form) {
  const schedule::Structure structure = schedule::structure_of(spec.workload);
  if (!structure.anchor) return {};
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*structure.anchor)];
  const bool windowed = anchor.axes.size() == 4 && anchor.reduce_axes.size() == 3;
  if (!windowed || anchor.combiner != tensor::Combiner::kSum) return {};
  const tensor::PortLayouts& ports = spec.ports;
  const tensor::Stage& output = spec.workload.stages[static_cast<size_t>(structure.output)];
  if (schedule::vector_axis(output, ports.output(0)) != 1)
    return {};  // channels innermost: what the templates are about

  const schedule::Sums chosen =
      schedule::choose_product(spec.workload, structure, ports, spec.target, spec.threads).sums;
  auto summed = [&](schedule::Sums sums) {
    ReductionForm each = form;
    each.sums = sums;
    return conv2d_template(spec, each);
  };
  std::vector<Sketch> sketches = {summed(chosen)};
  // Weights of one vector beyond L1: parts of them may be worth a pass over the rows each.
  int64_t bytes = spec.target.fp32_lanes() * tensor::element_bytes(anchor.output->element);
  for (const tensor::Axis& axis : anchor.reduce_axes) bytes *= extent_of(axis);
  if (bytes <= spec.target.caches.l1_bytes) return sketches;
  const schedule::Sums other =
      chosen == schedule::Sums::kWhole ? schedule::Sums::kSerialSplitK : schedule::Sums::kWhole;
  sketches.push_back(summed(other));
  return sketches;
}

}  // namespace tf::space
