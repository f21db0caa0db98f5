#pragma once
// Owns: what register tiles cost, those at edges included, and the one search for the sizes that cost least.
// Does not know: stages, steps.

#include <cstdint>
#include <functional>

#include "compiler/target/target.h"

namespace tf::recipes {

// The share of time that is left for arithmetic where each tile reads the `columns_bytes` that its sums take
// from beyond L1, if L1 has no room for them: a vector of them serves `rows` multiply-adds. L2 gives a vector
// a cycle at best, what lies beyond it half of that; out-of-order cores hide most of either behind
// arithmetic, but less where another tenant takes a share of the caches.
double streaming_efficiency(int64_t rows, int64_t columns_bytes, const target::Target& target);

// Whether the accumulators of a tile fit the registers, with a vector of columns for each of its vectors and
// one broadcast beside them.
bool fits_registers(int64_t rows, int64_t vectors, const target::Target& target);

// Cycles of a core that one term of all sums of a register tile takes, `rows` broadcasts by `vectors`
// vectors: what FMA pipes, load ports and latency need, over streaming_efficiency. Infinite if the
// tile does not fit the registers.
double tile_cycles(int64_t rows, int64_t vectors, int64_t column_bytes, const target::Target& target);

// The results that tiles cover: rows along two axes, `inner` of them neighbours, by vectors of columns.
struct TiledResults {
  int64_t inner = 1, outer = 1, vectors = 1;
  int64_t column_bytes = 0;  // that the sums of one vector read, if every tile reads them from a cache
  // Tiles at edges compute little more than what is there (passes/partition_loops); else as much as others.
  bool edges_are_partial = false;
};

struct TileSizes {
  int64_t inner = 1, outer = 1, vectors = 1;
};

// Cycles of one term of all sums: what all tiles take together.
double cycles_of(const TiledResults& results, const TileSizes& sizes, const target::Target& target);

struct TileLimits {
  int64_t least_inner = 1, most_inner = 32;
  int64_t most_outer = 4, most_vectors = 8;
};
struct TileChoice {
  TileSizes sizes;
  double cycles = 0;
};
// Of all sizes within the limits and the results those with the fewest cycles, times `slowdown` of the sizes
// if it is given; of sizes that cost the same the first, which have the fewest vectors.
TileChoice cheapest_tile(const TiledResults& results, const TileLimits& limits, const target::Target& target,
                         const std::function<double(const TileSizes&)>& slowdown = {});

}  // namespace tf::recipes
