#include "compiler/recipes/cpu/rows.h"

#include <string>

#include "compiler/recipes/emit/flat_stage.h"
#include "compiler/recipes/emit/row_steps.h"
#include "compiler/recipes/shape/narrow_factors.h"

namespace tf::recipes {
namespace {

// Powers of two around a register's lanes.
std::vector<int64_t> lengths_around(int64_t lanes) {
  std::vector<int64_t> lengths;
  for (int64_t n : {lanes / 2, lanes, 2 * lanes, 4 * lanes})
    if (n > 1) lengths.push_back(n);
  return lengths;
}

// With `all_open`, folds are in partial results and rows in blocks even where the default sizes want neither.
Sketch sketch_of(const tensor::KernelSpec& kernel, const Rows& rows, Storage storage, bool all_open) {
  const tensor::Workload& workload = kernel.workload;
  Sketch sketch("generated rows", kernel);
  Steps& steps = sketch.steps.steps;
  if (storage != Storage::kDefined) {
    sketch.family += storage == Storage::kFloat16 ? ", fp16" : ", bf16";
    append_narrowing(kernel, structure_of(workload), {storage}, steps);
  }
  const int64_t lanes = kernel.target.fp32_lanes();
  RowSizes sizes = default_row_sizes(workload, rows, lanes);
  sizes.lanes = sketch.open("lanes", lengths_around(sizes.lanes.value), sizes.lanes.value);
  if (all_open || longest_fold(workload, rows) > sizes.partials.value)
    sizes.partials = sketch.open("partials", lengths_around(lanes), sizes.partials.value);
  if (only_folds(workload, rows) && (all_open || sizes.block.value > 1))
    sizes.block = sketch.open("block", {1, 2, 4, 8}, sizes.block.value);
  append_rows(workload, rows, sizes, worth_threads(workload.stages.back(), kernel.threads), steps);
  const Size unroll = sketch.open("unroll", {0, 16, 64}, 0);
  for (size_t s = 0; s < workload.stages.size(); ++s)
    if (rows.stages[s].place == RowStage::Place::kStored)
      steps.push_back(
          schedule::Pragma{stage_name(static_cast<int>(s)), schedule::PragmaKind::kUnrollLimit, unroll});
  return sketch;
}

}  // namespace

std::vector<Sketch> rows(const tensor::KernelSpec& kernel) {
  const std::optional<Rows> rows = rows_of(kernel.workload, kernel.ports);
  if (!rows) return {};
  std::vector<Sketch> sketches;
  const Storage storage = read_storage(kernel, structure_of(kernel.workload));
  if (storage != Storage::kDefined) sketches.push_back(sketch_of(kernel, *rows, storage, false));
  sketches.push_back(sketch_of(kernel, *rows, Storage::kDefined, false));
  Sketch all_open = sketch_of(kernel, *rows, Storage::kDefined, true);
  if (all_open.hash() != sketches.back().hash()) sketches.push_back(std::move(all_open));
  return sketches;
}

}  // namespace tf::recipes
