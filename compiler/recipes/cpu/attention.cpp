#include "compiler/recipes/cpu/attention.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/whole_division.h"
#include "compiler/recipes/emit/flat_stage.h"
#include "compiler/recipes/emit/row_steps.h"
#include "compiler/recipes/emit/tiling.h"
#include "compiler/recipes/shape/attention.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/sizes/tile_cost.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
namespace {

using tensor::Stage;
using tensor::Workload;

struct AttentionSizes {
  Size block_tiles = 1;    // register tiles one above the other in a block
  Size rows = 8;           // of a register tile
  Size score_vectors = 2;  // of a register tile of scores
  Size value_vectors = 2;  // and of the result
  RowSizes row;
  int64_t lanes = 16;
};

// A product in a batch, columns along the last axis: one of the batch at a time, rows and columns in tiles.
RegisterTile product_tile(int stage, size_t rank, int row, const AxisTile& rows, Size column_vectors,
                          int64_t lanes) {
  RegisterTile tile;
  tile.output = stage_name(stage);
  tile.reduction = absl::StrCat(tile.output, ".acc");
  tile.axes.assign(rank, {.cut = Cut::kNone});
  tile.axes[static_cast<size_t>(row)] = rows;
  tile.axes.back() = {.tile = column_vectors, .cut = Cut::kTiles};
  tile.vector_axis = static_cast<int>(rank) - 1;
  tile.lanes = lanes;
  tile.reduce_inner = {std::nullopt};
  return tile;
}

int64_t vectors_of(const Stage& stage, int64_t lanes) {
  return ceil_div(extent_of(stage.axes.back()), lanes);
}

AttentionSizes default_attention_sizes(const Workload& workload, const Attention& attention,
                                       const target::Target& target) {
  AttentionSizes sizes;
  const Stage& result = workload.stages.back();
  const Stage& scores = workload.stages[static_cast<size_t>(attention.scores)];
  sizes.lanes = target.fp32_lanes();
  while (sizes.lanes > 1 && sizes.lanes >= 2 * extent_of(result.axes.back())) sizes.lanes /= 2;
  sizes.row = default_row_sizes(attention.inner, attention.rows, target.fp32_lanes());
  const int64_t rows = extent_of(result.axes[static_cast<size_t>(attention.row)]);
  // Both products have the same rows, and the same work.
  const int64_t score_vectors = vectors_of(scores, sizes.lanes),
                value_vectors = vectors_of(result, sizes.lanes);
  double least = std::numeric_limits<double>::infinity();
  constexpr int64_t kMostRows = 14;
  for (int64_t tile = 1; tile <= std::min(kMostRows, rows); ++tile) {
    auto cheapest = [&](int64_t vectors) {
      return cheapest_tile({.inner = rows, .vectors = vectors}, {.least_inner = tile, .most_inner = tile},
                           target);
    };
    const TileChoice first = cheapest(score_vectors), second = cheapest(value_vectors);
    const double cycles = first.cycles / static_cast<double>(score_vectors) +
                          second.cycles / static_cast<double>(value_vectors);
    if (cycles >= least) continue;
    least = cycles;
    sizes.rows = tile;
    sizes.score_vectors = first.sizes.vectors;
    sizes.value_vectors = second.sizes.vectors;
  }
  constexpr int64_t kBlockRows = 16;
  sizes.block_tiles = std::max<int64_t>(1, kBlockRows / sizes.rows.value);
  return sizes;
}

void append_attention(const Workload& workload, const Attention& attention, const AttentionSizes& sizes,
                      bool parallel, Steps& steps) {
  const int last = static_cast<int>(workload.stages.size()) - 1, weights = last - 1;
  const size_t rank = workload.stages.back().axes.size();
  const int column = static_cast<int>(rank) - 1;
  const std::string result = stage_name(last), scores = stage_name(attention.scores);
  RowSteps rows(attention.inner, attention.rows, sizes.row, steps);
  rows.prepare();
  steps.push_back(CacheWrite{scores});
  steps.push_back(CacheWrite{result});

  // The result: blocks of rows, tiles of a block.
  RegisterTile of_result =
      product_tile(last, rank, attention.row, {.middle = sizes.block_tiles, .tile = sizes.rows},
                   sizes.value_vectors, sizes.lanes);
  of_result.parallel = parallel;
  of_result.fused = column;  // the batch and the blocks of rows
  const std::string block = append_register_tile(of_result, steps);

  // The weights of a block, row by row: the rows are the last but one axis of weights and scores.
  const int row = column - 1;
  steps.push_back(ComputeAt{stage_name(weights), result, block, tensor::Scope::kGlobal});
  rows.shape_block();
  rows.place(absl::StrCat("i", row));

  // The scores of a block, before any row of it.
  steps.push_back(ComputeAt{scores, result, block, tensor::Scope::kGlobal});
  RegisterTile of_scores = product_tile(attention.scores, rank, row, {.tile = sizes.rows, .cut = Cut::kTiles},
                                        sizes.score_vectors, sizes.lanes);
  of_scores.parallel = false;
  append_register_tile(of_scores, steps);
  for (int s = 0; s < weights; ++s)
    if (attention.rows.stages[static_cast<size_t>(s)].place == RowStage::Place::kStored &&
        s != attention.scores)
      rows.shape(static_cast<size_t>(s));
}

}  // namespace

std::vector<Sketch> attention(const tensor::KernelSpec& kernel) {
  const std::optional<Attention> found = attention_of(kernel.workload, kernel.ports);
  if (!found) return {};
  Sketch sketch("generated attention", kernel);
  AttentionSizes sizes = default_attention_sizes(kernel.workload, *found, kernel.target);
  auto open = [&](const char* name, const std::vector<int64_t>& values, Size& size) {
    size = sketch.open(name, values, size.value);
  };
  open("block_tiles", {1, 2, 3, 4, 6, 8}, sizes.block_tiles);
  open("rows", {1, 2, 4, 6, 7, 8, 10, 12, 14}, sizes.rows);
  open("score_vectors", {1, 2, 3, 4}, sizes.score_vectors);
  open("value_vectors", {1, 2, 3, 4}, sizes.value_vectors);
  append_attention(kernel.workload, *found, sizes,
                   worth_threads(kernel.workload.stages.back(), kernel.threads), sketch.steps.steps);
  return {std::move(sketch)};
}

}  // namespace tf::recipes
