#pragma once
// Owns: what makes products of matrices fast beyond register tiles: recognising them, blocks for the caches,
// packing of an operand, and how the default schedule decides on these. Does not know: the rest of a
// schedule.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::recipes {

// An anchor that is a product of matrices: sum(k) rows[…, m, k] * columns[…, k, n], either operand's axes in
// any order, where n is the anchor's axis `vector_axis` and does not move `rows`. Narrow elements may be
// converted before they are multiplied.
struct MatrixProduct {
  int row_axis = 0;  // m, the innermost axis of the anchor that does not move `columns`
  const tensor::BufferNode* rows = nullptr;
  const tensor::BufferNode* columns = nullptr;
  int vector_dim = 0, reduce_dim = 0;  // of `columns`: n and k
};
std::optional<MatrixProduct> matrix_product(const tensor::Stage& anchor, int vector_axis);

// The position of the columns among the inputs, if they are one that is given at run time: they can be
// packed.
std::optional<int> packable_columns(const tensor::Workload& workload, const MatrixProduct& product);

// The register tile that a choice is made for: one an axis of the anchor, in elements.
struct ProductTile {
  int vector_axis = 0;
  std::vector<int64_t> elements;
  int64_t lanes = 1;  // of its vectors
};

// Tiles of a block, one an axis: blocks of rows, each with all columns, and at least a few blocks a thread.
// Blocks of rows pass by one panel of columns after another (Goto and van de Geijn, Anatomy of
// High-Performance Matrix Multiplication, section 5).
std::vector<int64_t> choose_blocks(const tensor::Stage& anchor, const MatrixProduct& product,
                                   const ProductTile& tile, int threads);

// How a long reduction is summed.
enum class Sums : uint8_t {
  kWhole,          // in registers
  kSerialSplitK,   // in parts, one after another, each in registers and added up in memory
  kParallelSplitK  // in parts, by several threads where results are too few for them, added up afterwards
};

struct ProductChoice {
  bool pack = false;  // the columns are copied in the order of tiles
  Sums sums = Sums::kWhole;
  int64_t partial_sum = 0;  // length of a part, if there are any
  // If not 0: constant columns stand in panels of so many vectors, fewer than a tile has.
  int64_t panel_vectors = 0;
};

// The length of a part that is added up in memory: `terms` for tiles of few rows, twice that for larger ones,
// which have more to add up a part.
int64_t part_length(int64_t terms, int64_t tile_rows);

ProductChoice choose_product(const tensor::KernelSpec& kernel, const tensor::Stage& anchor,
                             const MatrixProduct& product, const ProductTile& tile);

}  // namespace tf::recipes
