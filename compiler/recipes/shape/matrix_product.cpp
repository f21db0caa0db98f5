#include "compiler/recipes/shape/matrix_product.h"

#include <algorithm>

#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

namespace {

using tensor::Stage;
using tensor::Workload;

// The element that a factor is, whatever it is converted to on the way.
const tensor::Load* element_of(tensor::Expr factor) {
  while (const auto* cast = tensor::as<tensor::Cast>(factor)) factor = cast->a;
  return tensor::as<tensor::Load>(factor);
}

int64_t tiles_along(const Stage& anchor, const ProductTile& tile, size_t axis) {
  return ceil_div(extent_of(anchor.axes[axis]), tile.elements[axis]);
}

}  // namespace

std::optional<MatrixProduct> matrix_product(const Stage& anchor, int vector_axis) {
  const auto* body = tensor::as<tensor::Binary>(anchor.body);
  if (anchor.reduce_axes.size() != 1 || anchor.combiner != tensor::Combiner::kSum || body == nullptr ||
      body->op != tensor::BinaryOp::kMul)
    return std::nullopt;
  const tensor::Load* operands[] = {element_of(body->a), element_of(body->b)};
  if (operands[0] == nullptr || operands[1] == nullptr) return std::nullopt;
  const tensor::VarNode* vector_var = anchor.axes[static_cast<size_t>(vector_axis)].var.get();
  if (analysis::dimension_of(*operands[1], vector_var) < 0) std::swap(operands[0], operands[1]);
  const tensor::Load &rows = *operands[0], &columns = *operands[1];
  const tensor::VarNode* reduce_var = anchor.reduce_axes.front().var.get();
  MatrixProduct product{-1, rows.buffer.get(), columns.buffer.get(),
                        analysis::dimension_of(columns, vector_var),
                        analysis::dimension_of(columns, reduce_var)};
  for (int axis = 0; axis < static_cast<int>(anchor.axes.size()); ++axis) {
    const tensor::VarNode* var = anchor.axes[static_cast<size_t>(axis)].var.get();
    if (analysis::dimension_of(rows, var) >= 0 && analysis::dimension_of(columns, var) < 0)
      product.row_axis = axis;
  }
  const bool plain = product.vector_dim >= 0 && product.reduce_dim >= 0 &&
                     analysis::dimension_of(rows, vector_var) < 0 &&
                     analysis::dimension_of(rows, reduce_var) >= 0 && product.row_axis >= 0;
  return plain ? std::optional(product) : std::nullopt;
}

std::optional<int> packable_columns(const Workload& workload, const MatrixProduct& product) {
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.get() == product.columns && !workload.inputs[i].constant)
      return static_cast<int>(i);
  return std::nullopt;
}

std::vector<int64_t> choose_blocks(const Stage& anchor, const MatrixProduct& product, const ProductTile& tile,
                                   int threads) {
  // A panel of columns comes into L2 once for so many tiles of rows, which themselves may come from further
  // away: each of their elements is used for all columns of the panel.
  constexpr int64_t kRowTiles = 64, kBlocksPerThread = 4;
  const auto row = static_cast<size_t>(product.row_axis), column = static_cast<size_t>(tile.vector_axis);
  const int64_t row_tiles = tiles_along(anchor, tile, row), column_tiles = tiles_along(anchor, tile, column);
  std::vector<int64_t> blocks(anchor.axes.size(), 1);
  blocks[row] = std::min(kRowTiles, row_tiles);
  blocks[column] = column_tiles;
  int64_t others = 1;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis)
    if (axis != row && axis != column) others *= tiles_along(anchor, tile, axis);
  auto count = [&] {
    return others * ceil_div(row_tiles, blocks[row]) * ceil_div(column_tiles, blocks[column]);
  };
  // Rather fewer rows than columns in parts: one block loop is simpler than two, most of all at edges.
  auto shrink = [&](size_t axis, int64_t least) {
    while (threads > 1 && count() < kBlocksPerThread * threads && blocks[axis] > least) --blocks[axis];
  };
  shrink(row, kRowTiles / 8);
  shrink(column, 1);
  shrink(row, 1);
  for (size_t axis : {row, column}) {  // blocks of one size, as near as tiles allow
    const int64_t tiles = axis == row ? row_tiles : column_tiles;
    blocks[axis] = ceil_div(tiles, ceil_div(tiles, blocks[axis]));
  }
  return blocks;
}

int64_t part_length(int64_t terms, int64_t tile_rows) {
  constexpr int64_t kFewRows = 4;
  return tile_rows > kFewRows ? 2 * terms : terms;
}

ProductChoice choose_product(const tensor::KernelSpec& kernel, const Stage& anchor,
                             const MatrixProduct& product, const ProductTile& tile) {
  const Workload& workload = kernel.workload;
  const int threads = kernel.threads;
  const auto row = static_cast<size_t>(product.row_axis), column = static_cast<size_t>(tile.vector_axis);
  const int64_t row_tiles = tiles_along(anchor, tile, row);
  const int64_t reduce = extent_of(anchor.reduce_axes.front());
  const int64_t element_bytes = tensor::element_bytes(product.columns->element);
  const int64_t columns_bytes = element_bytes * reduce * extent_of(anchor.axes[column]);
  const int64_t panel_bytes = element_bytes * reduce * tile.elements[column];
  const int64_t l2_bytes = kernel.target.caches.l2_bytes;
  const bool at_run_time = packable_columns(workload, product).has_value();
  const bool strided = product.vector_dim + 1 != product.columns->rank();

  // A copy costs about what reading the columns in their own order costs a few times over; it pays in pages
  // and cache sets that a panel then does not share.
  constexpr int64_t kRowsWorthCopy = 96;
  ProductChoice choice;
  choice.pack = at_run_time && (strided ? row_tiles > 1 : extent_of(anchor.axes[row]) >= kRowsWorthCopy) &&
                (strided || columns_bytes > l2_bytes);
  constexpr int64_t kPartialSum = 1024, kRowsPartialSum = 8;
  // Few rows use columns that memory must deliver: then a few whole rows of the columns at a time are the
  // fastest to read.
  const bool streams = at_run_time && !strided && row_tiles == 1 && columns_bytes > 8 * l2_bytes;
  // The same where constant columns stand in the order of tiles: several panels side by side are as many
  // streams, and one ends at each page.
  constexpr int64_t kPanels = 4;
  const bool constant = std::ranges::any_of(workload.inputs, [&](const tensor::Input& input) {
    return input.constant && input.buffer.get() == product.columns;
  });
  if (constant && row_tiles == 1 && columns_bytes > 8 * l2_bytes)
    choice.panel_vectors = std::max<int64_t>(tile.elements[column] / tile.lanes / kPanels, 1);
  constexpr int64_t kWorthSharing = 1 << 19;
  constexpr int64_t kDotTerms = 4;  // that one instruction may take: parts do not cut them
  int64_t tiles = 1, results = 1;
  for (size_t axis = 0; axis < anchor.axes.size(); ++axis) {
    tiles *= tiles_along(anchor, tile, axis);
    results *= extent_of(anchor.axes[axis]);
  }
  if (tiles < threads && results * reduce >= kWorthSharing) {
    choice.sums = Sums::kParallelSplitK;
    choice.partial_sum = ceil_div(ceil_div(reduce, threads), kDotTerms) * kDotTerms;
  } else if (streams) {
    choice.sums = Sums::kSerialSplitK;
    choice.partial_sum = part_length(kRowsPartialSum, tile.elements[row]);
  } else if (row_tiles > 1 && panel_bytes > l2_bytes && reduce >= 2 * kPartialSum) {
    choice.sums = Sums::kSerialSplitK;
    choice.partial_sum = kPartialSum;
  }
  return choice;
}

}  // namespace tf::recipes
