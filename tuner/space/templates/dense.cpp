#include "tuner/space/templates/dense.h"

#include "base/whole_division.h"
#include "compiler/schedule/tile_cost.h"
#include "tuner/space/parameters.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {
namespace {

// How much dearer so many rows are than if tiles of that size, as wide as registers allow, had no edge.
double cost_of_edge(int64_t extent, int64_t tile, const target::Target& target) {
  int64_t vectors = 1;
  while (schedule::fits_registers(tile, vectors + 1, target)) ++vectors;
  const schedule::TiledResults rows{.inner = extent, .vectors = vectors, .edges_are_partial = true};
  const double without = static_cast<double>(extent) / static_cast<double>(tile);
  return schedule::cycles_of(rows, {.inner = tile, .vectors = vectors}, target) /
         (without * schedule::tile_cycles(tile, vectors, 0, target));
}

// Blocks of rows for the caches, tiles of rows for the registers.
Parameter rows_parameter(int64_t extent, const target::Target& target) {
  constexpr double kDear = 1.25;
  Parameter parameter{"tile_m", {}};
  for (int64_t tile = 1; tile <= extent && schedule::fits_registers(tile, 1, target); ++tile) {
    if (cost_of_edge(extent, tile, target) > kDear) continue;
    const int64_t covered = round_up(extent, tile);
    for (int64_t block : {1, 2, 4, 8, 16}) {
      if (block * tile <= covered) parameter.choices.push_back({block, tile});
    }
  }
  return parameter;
}

Sketch dense_template(const tensor::KernelSpec& spec, const ReductionForm& form) {
  const TiledReductionFrame frame = frame_of(spec, form);
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*frame.structure.anchor)];
  const auto column = static_cast<size_t>(frame.prepared.vector_axis);
  const std::optional<schedule::MatrixProduct> product =
      schedule::matrix_product(anchor, frame.prepared.vector_axis);
  const size_t row = product ? static_cast<size_t>(product->row_axis) : 0;
  const int64_t vectors = ceil_div(extent_of(anchor.axes[column]), frame.prepared.lanes);
  TiledReductionParameters parameters;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) {
    if (axis == row) {
      parameters.axes.push_back(rows_parameter(extent_of(anchor.axes[row]), spec.target));
    } else if (axis == column) {
      parameters.axes.push_back(tile_parameter("tile_n", vectors, {.parts = 2, .max_innermost = 8}));
    } else {
      parameters.axes.push_back(Parameter{"tile_batch", {{1, 1}}});
    }
  }
  parameters.reduces.push_back(
      tile_parameter("inner_k", extent_of(anchor.reduce_axes[0]), {.parts = 1, .max_innermost = 16}));
  parameters.unroll = scalar_parameter("unroll", {0, 64, 256});
  std::string family = "template dense";
  if (form.pack) family += ", packed";
  if (form.sums == schedule::Sums::kSerialSplitK) family += ", partial sums";
  if (form.sums == schedule::Sums::kParallelSplitK) family += ", shared sums";
  return tiled_reduction(std::move(family), spec, frame, std::move(parameters));
}

// Worth a sketch of its own.
bool is_long(const tensor::Stage& anchor) {
  constexpr int64_t kLong = 512;
  return extent_of(anchor.reduce_axes.front()) >= kLong;
}

}  // namespace

std::vector<Sketch> dense_templates(const tensor::KernelSpec& spec, const ReductionForm& form) {
  const schedule::Structure structure = schedule::structure_of(spec.workload);
  if (!structure.anchor) return {};
  const tensor::Stage& anchor = spec.workload.stages[static_cast<size_t>(*structure.anchor)];
  if (anchor.axes.size() < 2 || anchor.reduce_axes.size() != 1) return {};
  const tensor::PortLayouts& ports = spec.ports;
  const tensor::Stage& output = spec.workload.stages[static_cast<size_t>(structure.output)];
  const int column = schedule::vector_axis(output, ports.output(0));
  const std::optional<schedule::MatrixProduct> product = schedule::matrix_product(anchor, column);
  if (!product && (anchor.axes.size() != 2 || column != 1)) return {};

  const schedule::ProductChoice chosen =
      schedule::choose_product(spec.workload, structure, ports, spec.target, spec.threads);
  const bool may_pack = product && schedule::packable_columns(spec.workload, *product);
  // The default schedule's form first, then each other way to sum, with and without a copy.
  std::vector<ReductionForm> forms = {{form.producers, chosen.pack, chosen.sums, form.storage}};
  for (schedule::Sums sums :
       {schedule::Sums::kWhole, schedule::Sums::kSerialSplitK, schedule::Sums::kParallelSplitK}) {
    const bool parts = sums != schedule::Sums::kWhole;
    if (sums != chosen.sums && parts && (!product || !is_long(anchor))) continue;
    if (sums != chosen.sums && sums == schedule::Sums::kParallelSplitK && spec.threads == 1) continue;
    if (sums != chosen.sums) forms.push_back({form.producers, chosen.pack, sums, form.storage});
    if (may_pack) forms.push_back({form.producers, !chosen.pack, sums, form.storage});
  }
  std::vector<Sketch> sketches;
  for (const ReductionForm& each : forms) sketches.push_back(dense_template(spec, each));
  return sketches;
}

}  // namespace tf::space
