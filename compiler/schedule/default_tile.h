#pragma once
// Owns: the sizes of a kernel that nobody has tuned: a register tile by counting registers and loads, blocks,
// what a matrix product adds. Does not know: steps.

#include <cstdint>
#include <vector>

#include "compiler/schedule/matrix_product.h"
#include "compiler/schedule/preparation.h"

namespace tf::schedule {

// The sizes that the default schedule gives a register tile; also where searches start.
struct DefaultTile {
  std::vector<int64_t> tiles;         // one an output axis: elements, for the vector axis vectors
  std::vector<int64_t> blocks;        // one an output axis: tiles of a block
  std::vector<int64_t> reduce_inner;  // one a reduce axis: the inner factor, of the first in groups
  int64_t unroll = 0;                 // statements that unrolling the reduction's inner loops may make
  int fused = 1;                      // with threads: so many outer loops are worth one parallel loop
};
DefaultTile default_tile(const tensor::Stage& anchor, const Prepared& prepared, const target::Target& target,
                         int threads);

// What the default schedule does with a matrix product beyond tiles; nothing of it for other anchors.
ProductChoice choose_product(const tensor::Workload& workload, const Structure& structure,
                             const PortLayouts& ports, const target::Target& target, int threads);

// How well a register tile of `rows` broadcasts by `vectors` vectors uses a core, in (0, 1]: FMAs over the
// cycles that FMA pipes, load ports and latency need; 0 if the accumulators do not fit the registers.
double tile_efficiency(int64_t rows, int64_t vectors, const target::Target& target);

// The share of time that is left for arithmetic where each tile reads the `columns_bytes` that its sums take
// from beyond L1, if L1 has no room for them: a vector of them serves `rows` multiply-adds. L2 gives a vector
// a cycle at best, what lies beyond it half of that; out-of-order cores hide most of either behind
// arithmetic, but less where another tenant takes a share of the caches.
double streaming_efficiency(int64_t rows, int64_t columns_bytes, const target::Target& target);

}  // namespace tf::schedule
