#pragma once
// Owns: the sizes of a kernel that nobody has tuned: its register tile, blocks, what a matrix product adds.
// Does not know: steps, what a tile costs.

#include <cstdint>
#include <vector>

#include "compiler/recipes/emit/preparation.h"
#include "compiler/recipes/shape/matrix_product.h"

namespace tf::recipes {

// The sizes that the default schedule gives a register tile; also where searches start.
struct DefaultTile {
  std::vector<int64_t> tiles;         // one an output axis: elements, for the vector axis vectors
  std::vector<int64_t> blocks;        // one an output axis: tiles of a block
  std::vector<int64_t> reduce_inner;  // one a reduce axis: the inner factor, of the first in groups
  int64_t unroll = 0;                 // statements that unrolling the reduction's inner loops may make
  int fused = 1;                      // with threads: so many outer loops are worth one parallel loop
};
DefaultTile default_tile(const tensor::KernelSpec& kernel, const Structure& structure,
                         const Prepared& prepared);

// What the default schedule does with a matrix product beyond tiles; nothing of it for other anchors.
ProductChoice choose_product(const tensor::KernelSpec& kernel, const Structure& structure);

}  // namespace tf::recipes
