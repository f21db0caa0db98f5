#include "compiler/recipes/cpu/dense.h"

#include "base/whole_division.h"
#include "compiler/recipes/emit/tiled_reduction.h"
#include "compiler/recipes/sizes/default_tile.h"
#include "compiler/recipes/sizes/parameters.h"
#include "compiler/recipes/sizes/tile_cost.h"

namespace tf::recipes {

namespace {

// How much dearer so many rows are than if tiles of that size, as wide as registers allow, had no edge.
double cost_of_edge(int64_t extent, int64_t tile, const target::Target& target) {
  int64_t vectors = 1;
  while (fits_registers(tile, vectors + 1, target)) ++vectors;
  const TiledResults rows{.inner = extent, .vectors = vectors, .edges_are_partial = true};
  const double without = static_cast<double>(extent) / static_cast<double>(tile);
  return cycles_of(rows, {.inner = tile, .vectors = vectors}, target) /
         (without * tile_cycles(tile, vectors, 0, target));
}

// Blocks of rows for the caches, tiles of rows for the registers.
Parameter rows_parameter(int64_t extent, const target::Target& target) {
  constexpr double kDear = 1.25;
  Parameter parameter{"tile_m", {}};
  for (int64_t tile = 1; tile <= extent && fits_registers(tile, 1, target); ++tile) {
    if (cost_of_edge(extent, tile, target) > kDear) continue;
    const int64_t covered = round_up(extent, tile);
    for (int64_t block : {1, 2, 4, 8, 16}) {
      if (block * tile <= covered) parameter.choices.push_back({block, tile});
    }
  }
  return parameter;
}

Sketch sketch_of(const tensor::KernelSpec& kernel, const tensor::Stage& anchor, const Prepared& frame,
                 const ReductionForm& form) {
  const auto column = static_cast<size_t>(frame.vector_axis);
  const std::optional<MatrixProduct> product = matrix_product(anchor, frame.vector_axis);
  const size_t row = product ? static_cast<size_t>(product->row_axis) : 0;
  const int64_t vectors = ceil_div(extent_of(anchor.axes[column]), frame.lanes);
  ReductionChoices choices;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) {
    if (axis == row) {
      choices.axes.push_back(rows_parameter(extent_of(anchor.axes[row]), kernel.target));
    } else if (axis == column) {
      choices.axes.push_back(tile_parameter("tile_n", vectors, {.parts = 2, .max_innermost = 8}));
    } else {
      choices.axes.push_back(Parameter{"tile_batch", {{1, 1}}});
    }
  }
  choices.reduces.push_back(
      tile_parameter("inner_k", extent_of(anchor.reduce_axes[0]), {.parts = 1, .max_innermost = 16}));
  choices.unroll = scalar_parameter("unroll", {0, 64, 256});
  std::string family = "template dense";
  if (form.columns == Columns::kPacked) family += ", packed";
  if (form.sums == Sums::kSerialSplitK) family += ", partial sums";
  if (form.sums == Sums::kParallelSplitK) family += ", shared sums";
  return tiled_reduction(std::move(family), kernel, form, std::move(choices));
}

// Worth a sketch of its own.
bool is_long(const tensor::Stage& anchor) {
  constexpr int64_t kLong = 512;
  return extent_of(anchor.reduce_axes.front()) >= kLong;
}

}  // namespace

bool is_dense(const tensor::KernelSpec& kernel, const Structure& structure) {
  if (!structure.anchor) return false;
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  if (anchor.axes.size() < 2 || anchor.reduce_axes.size() != 1) return false;
  const int axis = prepared_frame(kernel, structure).vector_axis;
  return matrix_product(anchor, axis) || (anchor.axes.size() == 2 && axis == 1);
}

std::vector<Sketch> dense(const tensor::KernelSpec& kernel) {
  const Structure structure = structure_of(kernel.workload);
  if (!is_dense(kernel, structure)) return {};
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  const Prepared frame = prepared_frame(kernel, structure);
  const std::optional<MatrixProduct> product = matrix_product(anchor, frame.vector_axis);
  const ProductChoice chosen = choose_product(kernel, structure);
  const bool may_pack = product && packable_columns(kernel.workload, *product);
  const Columns likely = chosen.pack ? Columns::kPacked : Columns::kAsGiven,
                other = chosen.pack ? Columns::kAsGiven : Columns::kPacked;
  std::vector<Sketch> sketches;
  for (ReductionForm form : reduction_forms(kernel, structure)) {
    auto add = [&](Sums sums, Columns columns) {
      form.sums = sums;
      form.columns = columns;
      sketches.push_back(sketch_of(kernel, anchor, frame, form));
    };
    // What suits the product first, then each other way to sum, with and without a copy.
    add(chosen.sums, likely);
    for (Sums sums : {Sums::kWhole, Sums::kSerialSplitK, Sums::kParallelSplitK}) {
      const bool parts = sums != Sums::kWhole;
      if (sums != chosen.sums && parts && (!product || !is_long(anchor))) continue;
      if (sums != chosen.sums && sums == Sums::kParallelSplitK && kernel.threads == 1) continue;
      if (sums != chosen.sums) add(sums, likely);
      if (may_pack) add(sums, other);
    }
  }
  return sketches;
}

}  // namespace tf::recipes
