#include "compiler/recipes/emit/tiled_reduction.h"

#include <algorithm>
#include <numeric>

#include "base/whole_division.h"
#include "compiler/recipes/emit/flat_stage.h"
#include "compiler/recipes/emit/operand_storage.h"
#include "compiler/recipes/emit/tiling.h"
#include "compiler/recipes/sizes/default_tile.h"

namespace tf::recipes {
namespace {

// Opens the length of parts of a reduction of that length: what leaves more than one of them.
PartLength open_part(Sketch& sketch, int64_t extent, int64_t default_length) {
  constexpr int64_t kLeast = 8, kMost = 4096;
  std::vector<int64_t> lengths;
  for (int64_t length = kLeast; length < extent && length <= kMost; length *= 2) lengths.push_back(length);
  return {sketch.open("partial_sum", lengths, default_length), std::gcd(kLeast, default_length)};
}

const char* suffix(Storage storage) {
  return storage == Storage::kBFloat16 ? ", bf16" : storage == Storage::kFloat16 ? ", fp16" : "";
}

}  // namespace

Sketch tiled_reduction(std::string family, const tensor::KernelSpec& kernel, const ReductionForm& form,
                       ReductionChoices choices) {
  const Structure structure = structure_of(kernel.workload);
  const tensor::Stage& anchor = anchor_of(kernel.workload, structure);
  const ProductChoice product = choose_product(kernel, structure);
  Sketch sketch(std::move(family) + suffix(form.storage), kernel);
  Steps& steps = sketch.steps.steps;

  PartLength part;
  if (form.sums != Sums::kWhole) {
    const int64_t extent = extent_of(anchor.reduce_axes.front());
    const int64_t length = form.sums == product.sums            ? product.partial_sum
                           : form.sums == Sums::kParallelSplitK ? ceil_div(extent, kernel.threads)
                                                                : std::min<int64_t>(1024, (extent + 1) / 2);
    part = open_part(sketch, extent, length);
  }
  const Prepared prepared = append_preparation(kernel, structure, form, part, steps);
  const DefaultTile sizes = default_tile(kernel, structure, prepared);

  std::vector<AxisTile> axes;
  for (size_t axis = 0; axis < choices.axes.size(); ++axis) {
    const std::vector<Size> parts =
        sketch.open(std::move(choices.axes[axis]), {sizes.blocks[axis], sizes.tiles[axis]});
    axes.push_back({parts[0], parts[1]});
  }
  Size panel = axes[static_cast<size_t>(prepared.vector_axis)].tile;
  RegisterTile tile = register_tile(anchor, prepared, std::move(axes), sizes.fused);
  tile.parallel = worth_threads(anchor, kernel.threads);
  for (size_t axis = 0; axis < choices.reduces.size(); ++axis)
    tile.reduce_inner.push_back(
        sketch.open(std::move(choices.reduces[axis]), {sizes.reduce_inner[axis]}).front());
  if (product.panel_vectors > 0) panel = sketch.open("panel", {1, 2, 4, 8}, product.panel_vectors);
  append_operand_storage(kernel, structure, prepared, panel, steps);
  append_register_tile(tile, steps);
  const Size unroll = sketch.open(std::move(choices.unroll), {sizes.unroll}).front();
  steps.push_back(schedule::Pragma{tile.reduction, schedule::PragmaKind::kUnrollLimit, unroll});
  return sketch;
}

}  // namespace tf::recipes
