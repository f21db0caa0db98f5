#include "compiler/recipes/sizes/default_tile.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/recipes/shape/dot_products.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/sizes/tile_cost.h"

namespace tf::recipes {

namespace {

using tensor::Stage;
using tensor::Workload;

// What share of the threads' time is work when `blocks` equal pieces of it are dealt.
double busy_share(int64_t blocks, int threads) {
  const int64_t rounds = ceil_div(blocks, threads);
  return static_cast<double>(blocks) / static_cast<double>(rounds * threads);
}

// How many of the outer loops become one parallel loop, and what share of the threads' time is then work: all
// but the last, which alone is a loop of few instructions more, unless with it they share the work better.
struct Parallel {
  int fused = 1;
  double busy = 1;
};
Parallel choose_parallel(const Stage& stage, const std::vector<int64_t>& tiles, const Prepared& prepared,
                         int threads) {
  constexpr double kOfFusingAll = 0.97;
  int64_t outer = 1, last = 1;
  for (size_t axis = 0; axis < tiles.size(); ++axis) {
    const int64_t size = tiles[axis] * (static_cast<int>(axis) == prepared.vector_axis ? prepared.lanes : 1);
    outer *= last;
    last = ceil_div(extent_of(stage.axes[axis]), size);
  }
  const auto rank = static_cast<int>(tiles.size());
  const double busy = busy_share(outer, threads), busy_all = kOfFusingAll * busy_share(outer * last, threads);
  if (rank == 1 || busy_all > busy) return {rank, busy_all};
  return {rank - 1, busy};
}

bool moves(const tensor::Load& load, const tensor::Axis& axis) {
  return std::ranges::any_of(
      load.indices, [&](const tensor::Expr& index) { return analysis::uses(index, axis.var.get()); });
}

// The innermost axis of rows. The stage must have an axis beside that of vectors.
size_t row_axis(const Stage& stage, const Prepared& prepared) {
  const size_t last = stage.axes.size() - 1;
  return static_cast<size_t>(prepared.vector_axis) == last ? last - 1 : last;
}

// Of the buffer, row-major, what an element of the dimensions before `dim` takes.
int64_t bytes_from(const tensor::BufferNode& buffer, size_t dim) {
  int64_t bytes = tensor::element_bytes(buffer.element);
  for (; dim < buffer.extents.size(); ++dim) bytes *= tensor::as_int(buffer.extents[dim]).value_or(1);
  return bytes;
}

// Bytes of the anchor's operands: of the columns (a matrix's, weights), which move with the vector axis and
// not with rows, all that the sums of one vector take; of rows (an image), which are the reverse, all.
struct OperandBytes {
  int64_t a_column = 0, rows = 0;  // 0: there are none
};
OperandBytes operand_bytes(const Stage& stage, const Prepared& prepared) {
  OperandBytes bytes;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    if (!moves(*load, stage.axes[static_cast<size_t>(prepared.vector_axis)])) {
      bytes.rows = bytes_from(*load->buffer, 0);
    } else if (stage.axes.size() == 1 || !moves(*load, stage.axes[row_axis(stage, prepared)])) {
      bytes.a_column = prepared.lanes * tensor::element_bytes(load->buffer->element);
      for (const tensor::Axis& axis : stage.reduce_axes) bytes.a_column *= extent_of(axis);
    }
    return true;
  });
  return bytes;
}

// The axes whose neighbours share what a vector reads, innermost first: of a row-major convolution, where
// vectors are pixels, the filters. Where all axes move it (windows of one channel), any.
std::vector<size_t> row_axes_of(const Stage& stage, size_t vector) {
  std::vector<size_t> sharing, all;
  for (size_t axis = stage.axes.size(); axis-- > 0;) {
    if (axis == vector) continue;
    bool shares = true;
    tensor::for_each(stage.body, [&](const tensor::Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      if (load && moves(*load, stage.axes[vector]) && moves(*load, stage.axes[axis])) shares = false;
      return true;
    });
    all.push_back(axis);
    if (shares) sharing.push_back(axis);
  }
  const bool any = std::ranges::any_of(sharing, [&](size_t axis) { return extent_of(stage.axes[axis]) > 1; });
  return any ? sharing : all;
}

// What moves with rows and not with vectors: the other factor. Null if there is none.
const tensor::Load* rows_factor(const Stage& stage, size_t vector, size_t row) {
  const tensor::Load* found = nullptr;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load && moves(*load, stage.axes[row]) && !moves(*load, stage.axes[vector])) found = load;
    return true;
  });
  return found;
}

// Of how many rows, so far apart, a cache holds neighbours at once: rows whose pitch is a multiple of what
// one way of it holds all share one set. Reckons with 8 ways, which most caches have; targets do not say how
// many. One of 16 (many L2s) holds these rows, too, and about twice as many where they share sets; one of 2
// (Cortex-A72's L1) then holds fewer, and fetches some of them again.
int64_t rows_held(int64_t pitch_bytes, int64_t cache_bytes) {
  constexpr int64_t kWays = 8, kOfRows = 7;  // one is for what else is read
  const int64_t way_bytes = std::max<int64_t>(cache_bytes / kWays, 1);
  return kOfRows * (way_bytes / std::gcd(way_bytes, pitch_bytes));
}

// Of how many rows neighbours along the reduction fit into the first cache at once.
int64_t rows_apart(const Stage& stage, size_t vector, size_t row, const target::Target& target) {
  const tensor::Load* rows = rows_factor(stage, vector, row);
  if (rows == nullptr) return std::numeric_limits<int64_t>::max();
  size_t dim = 0;
  while (dim < rows->indices.size() && !analysis::uses(rows->indices[dim], stage.axes[row].var.get())) ++dim;
  return rows_held(bytes_from(*rows->buffer, dim + 1), target.caches.l1_bytes);
}

// Rows go to the innermost two axes of rows; the sizes that take the threads least time win.
std::vector<int64_t> choose_tiles(const Stage& stage, const Prepared& prepared, const target::Target& target,
                                  int threads) {
  const auto vector = static_cast<size_t>(prepared.vector_axis);
  const std::vector<size_t> row_axes = row_axes_of(stage, vector);
  TiledResults results{.vectors = ceil_div(extent_of(stage.axes[vector]), prepared.lanes),
                       .edges_are_partial = true};
  const int64_t a_column = operand_bytes(stage, prepared).a_column;
  if (prepared.reduce_block > 1) results.column_bytes = a_column;
  TileLimits limits;
  if (!row_axes.empty()) {
    results.inner = extent_of(stage.axes[row_axes[0]]);
    limits.most_inner = std::min(limits.most_inner, rows_apart(stage, vector, row_axes[0], target));
  }
  if (row_axes.size() > 1) results.outer = extent_of(stage.axes[row_axes[1]]);
  // A matrix beyond L2 is read once if one tile has all rows, in panels that are best of one width.
  if (matrix_product(stage, prepared.vector_axis) && a_column * results.vectors > target.caches.l2_bytes &&
      results.inner <= limits.most_inner &&
      fits_registers(results.inner, std::min<int64_t>(2, results.vectors), target)) {
    limits.least_inner = results.inner;
    results.edges_are_partial = false;
  }
  auto along_axes = [&](const TileSizes& sizes) {
    std::vector<int64_t> tiles(stage.axes.size(), 1);
    if (!row_axes.empty()) tiles[row_axes[0]] = sizes.inner;
    if (row_axes.size() > 1) tiles[row_axes[1]] = sizes.outer;
    tiles[vector] = sizes.vectors;
    return tiles;
  };
  return along_axes(cheapest_tile(results, limits, target, [&](const TileSizes& sizes) {
                      return 1 / choose_parallel(stage, along_axes(sizes), prepared, threads).busy;
                    }).sizes);
}

// How many tiles there are along each axis of rows; 1 for the vector axis.
std::vector<int64_t> tiles_along(const Stage& anchor, const Prepared& prepared,
                                 const std::vector<int64_t>& tiles) {
  std::vector<int64_t> counts(tiles.size(), 1);
  for (size_t axis = 0; axis < tiles.size(); ++axis)
    if (static_cast<int>(axis) != prepared.vector_axis)
      counts[axis] = ceil_div(extent_of(anchor.axes[axis]), tiles[axis]);
  return counts;
}

// Tiles of a block, one an axis: where L2 does not hold the image beside the columns that pass by, so many of its rows as
// take half of L2 stay there while all columns pass by, and come from beyond L2 once and not once a tile of columns. The
// columns then come once a block, but as one stream, which is fetched ahead; an image's channels are far apart.
std::vector<int64_t> choose_image_blocks(const Stage& anchor, const Prepared& prepared,
                                         const std::vector<int64_t>& tiles, const target::Target& target,
                                         int threads) {
  std::vector<int64_t> blocks(tiles.size(), 1);
  const auto vector = static_cast<size_t>(prepared.vector_axis);
  const OperandBytes bytes = operand_bytes(anchor, prepared);
  const int64_t room = target.caches.l2_bytes / 2;
  const std::vector<size_t> row_axes = row_axes_of(anchor, vector);
  if (bytes.rows <= room || row_axes.empty()) return blocks;
  const int64_t vectors = ceil_div(extent_of(anchor.axes[vector]), prepared.lanes);
  const int64_t column_tiles = ceil_div(vectors, tiles[vector]);
  const std::vector<int64_t> counts = tiles_along(anchor, prepared, tiles);
  blocks[vector] = column_tiles;
  blocks[row_axes[0]] = counts[row_axes[0]];
  int64_t lines = 1;  // rows of tiles in the whole image
  for (size_t axis = 0; axis < counts.size(); ++axis)
    if (axis != row_axes[0]) lines *= counts[axis];
  if (row_axes.size() > 1) {
    constexpr int64_t kBlocksPerThread = 4;
    const size_t outer = row_axes[1];
    const int64_t fit = room * lines / bytes.rows;
    const int64_t shared = threads > 1 ? lines / (kBlocksPerThread * threads) : lines;
    blocks[outer] = std::clamp<int64_t>(std::min(fit, shared), 1, counts[outer]);
    blocks[outer] = ceil_div(counts[outer], ceil_div(counts[outer], blocks[outer]));  // of one size
    lines = lines / counts[outer] * ceil_div(counts[outer], blocks[outer]);
  }
  // Columns that may come from memory and not from L3 would hold the arithmetic up.
  const int64_t columns = vectors * bytes.a_column;
  const bool far_away = columns > 4 * target.caches.l2_bytes;
  if (far_away || columns * lines > bytes.rows * column_tiles) return std::vector<int64_t>(tiles.size(), 1);
  return blocks;
}

// Sums in parts, where a tile's columns do not fit L2 and several tiles of rows would fetch them again: parts
// whose columns do, of equal length.
ProductChoice choose_sums(const Stage& anchor, const Prepared& prepared, const std::vector<int64_t>& tiles,
                          const target::Target& target) {
  const int64_t bytes =
      operand_bytes(anchor, prepared).a_column * tiles[static_cast<size_t>(prepared.vector_axis)];
  const int64_t row_tiles = std::ranges::max(tiles_along(anchor, prepared, tiles));
  if (prepared.reduce_block == 1 || 2 * bytes <= target.caches.l2_bytes || row_tiles < 2) return {};
  const int64_t terms = extent_of(anchor.reduce_axes.front());
  ProductChoice choice;
  for (int64_t parts = 2; parts <= terms / prepared.reduce_block; ++parts) {
    if (terms % (parts * prepared.reduce_block) != 0) continue;
    choice = {.sums = Sums::kSerialSplitK, .partial_sum = terms / parts};
    if (bytes <= parts * (target.caches.l2_bytes / 4)) break;
  }
  return choice;
}

// Rows of the columns that a tile of rows leaves in L1 and L2 for the next: few enough for the first TLB,
// too, and enough to hide adding up the parts.
constexpr int64_t kRowsOfPart = 32;

// Whether L2 has lost most of a panel of the columns, which stand row-major as they were given, when the next
// tile of rows passes by: each would fetch it from beyond. Less than that hides behind arithmetic.
bool loses_panels(const Workload& workload, const Stage& anchor, const MatrixProduct& product,
                  const target::Target& target) {
  const auto rows = static_cast<size_t>(product.reduce_dim);
  const int64_t reduce = extent_of(anchor.reduce_axes.front());
  return packable_columns(workload, product) && product.vector_dim + 1 == product.columns->rank() &&
         reduce > 2 * kRowsOfPart &&
         reduce > 2 * rows_held(bytes_from(*product.columns, rows + 1), target.caches.l2_bytes);
}

// The axis of rows, where others, which move what a vector reads, are inside of it: all rows then pass by one
// vector's share of that before they move, if all that rows read stays in L2. The number of axes, if not so.
size_t rows_inside(const Stage& anchor, const Prepared& prepared, const target::Target& target) {
  const auto vector = static_cast<size_t>(prepared.vector_axis), none = anchor.axes.size();
  const std::vector<size_t> rows = row_axes_of(anchor, vector);
  const tensor::Load* factor = rows.empty() ? nullptr : rows_factor(anchor, vector, rows[0]);
  if (factor == nullptr || bytes_from(*factor->buffer, 0) > target.caches.l2_bytes) return none;
  for (size_t axis = rows[0] + 1; axis < none; ++axis)
    if (axis != vector && extent_of(anchor.axes[axis]) > 1) return rows[0];
  return none;
}

ProductTile product_tile(const Prepared& prepared, const std::vector<int64_t>& tiles) {
  ProductTile tile{prepared.vector_axis, tiles, prepared.lanes};
  tile.elements[static_cast<size_t>(prepared.vector_axis)] *= prepared.lanes;
  return tile;
}

// By how much the window moves from one row of the result to the next.
int64_t row_stride(const Stage& stage) {
  int64_t stride = 1;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr || load->indices.size() != 4) return true;
    auto at = [&](int64_t row) {
      const tensor::Substitution values = {{stage.axes[2].var.get(), tensor::imm(row)},
                                           {stage.reduce_axes[0].var.get(), tensor::imm(0)}};
      return tensor::as_int(tensor::substitute(load->indices[2], values)).value_or(0);
    };
    stride = std::max(stride, at(1) - at(0));
    return true;
  });
  return stride;
}

// The whole window is unrolled, so that neighbours share their loads; a few results at a time, because edges
// then are few copies. Where rows overlap less, several of them are needed to share anything.
DefaultTile window_tile(const Stage& stage, const Prepared& prepared) {
  DefaultTile tile;
  tile.tiles.assign(4, 1);
  tile.blocks.assign(4, 1);
  tile.reduce_inner = {extent_of(stage.reduce_axes[0]), extent_of(stage.reduce_axes[1])};
  std::vector<size_t> rows;
  for (size_t axis = 0; axis < 4; ++axis)
    if (static_cast<int>(axis) != prepared.vector_axis) rows.push_back(axis);
  const bool strided = row_stride(stage) > 1;
  tile.tiles[rows[2]] = std::min<int64_t>(strided ? 2 : 4, extent_of(stage.axes[rows[2]]));
  tile.tiles[rows[1]] = std::min<int64_t>(strided ? 4 : 1, extent_of(stage.axes[rows[1]]));
  tile.unroll = 512;
  return tile;
}

}  // namespace

DefaultTile default_tile(const tensor::KernelSpec& kernel, const Structure& structure,
                         const Prepared& prepared) {
  const Stage& anchor = anchor_of(kernel.workload, structure);
  const target::Target& target = kernel.target;
  const int threads = kernel.threads;
  if (slides_over_one_channel(anchor) && prepared.vector_axis == 1) {
    DefaultTile tile = window_tile(anchor, prepared);
    tile.fused = choose_parallel(anchor, tile.tiles, prepared, threads).fused;
    return tile;
  }
  DefaultTile tile;
  tile.tiles = choose_tiles(anchor, prepared, target, threads);
  tile.blocks.assign(tile.tiles.size(), 1);
  // A window's places become constants, which boundaries between blocks can be found at.
  if (reads_one_operand(anchor)) tile.unroll = 256;
  tile.fused = choose_parallel(anchor, tile.tiles, prepared, threads).fused;
  // Parts of sums pass by all rows: their columns come into L2 once.
  if (prepared.sums == Sums::kSerialSplitK)
    tile.blocks = tiles_along(anchor, prepared, tile.tiles);
  else if (prepared.reduce_block > 1 && anchor.axes.size() > 1)
    tile.blocks = choose_image_blocks(anchor, prepared, tile.tiles, target, threads);
  if (const std::optional<MatrixProduct> product = matrix_product(anchor, prepared.vector_axis)) {
    tile.blocks = choose_blocks(anchor, *product, product_tile(prepared, tile.tiles), threads);
    tile.fused = static_cast<int>(anchor.axes.size());
  } else if (const size_t row = rows_inside(anchor, prepared, target); row < anchor.axes.size()) {
    tile.blocks[row] = tiles_along(anchor, prepared, tile.tiles)[row];
    tile.fused = static_cast<int>(anchor.axes.size());
  }
  for (size_t axis = 0; axis < anchor.reduce_axes.size(); ++axis) {
    const int64_t extent = extent_of(anchor.reduce_axes[axis]);
    const bool whole_blocks = axis == 0 && extent % prepared.reduce_block == 0;
    tile.reduce_inner.push_back(whole_blocks ? std::max<int64_t>(prepared.reduce_block / prepared.group, 1)
                                             : 1);
  }
  return tile;
}

ProductChoice choose_product(const tensor::KernelSpec& kernel, const Structure& structure) {
  const Workload& workload = kernel.workload;
  const target::Target& target = kernel.target;
  const Prepared prepared = prepared_frame(kernel, structure);
  const Stage& anchor = anchor_of(workload, structure);
  const std::optional<MatrixProduct> product = matrix_product(anchor, prepared.vector_axis);
  const std::vector<int64_t> tiles = choose_tiles(anchor, prepared, target, kernel.threads);
  if (!product) {
    ProductChoice choice = choose_sums(anchor, prepared, tiles, target);
    const auto vector = static_cast<size_t>(prepared.vector_axis);
    const int64_t vectors = ceil_div(extent_of(anchor.axes[vector]), prepared.lanes);
    // The last tile has fewer vectors: in panels of a tile's width it would compute padding.
    if (vectors % tiles[vector] != 0) choice.panel_vectors = std::gcd(vectors, tiles[vector]);
    return choice;
  }
  ProductChoice choice = choose_product(kernel, anchor, *product, product_tile(prepared, tiles));
  // A copy in groups is what dot products take: they multiply several times as much as anything else.
  const auto row = static_cast<size_t>(product->row_axis);
  choice.pack =
      choice.pack || (packable_columns(workload, *product) && extent_of(anchor.axes[row]) > tiles[row] &&
                      dot_group(kernel, structure, Columns::kPacked) > 1);
  if (!choice.pack && choice.sums == Sums::kWhole && extent_of(anchor.axes[row]) > tiles[row] &&
      loses_panels(workload, anchor, *product, target)) {
    choice.sums = Sums::kSerialSplitK;
    choice.partial_sum = part_length(kRowsOfPart, tiles[row]);
  }
  return choice;
}

}  // namespace tf::recipes
