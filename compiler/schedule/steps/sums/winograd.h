#pragma once
// Owns: the step `winograd`.
//
// Effect: the stage, a convolution of stride 1 by r x r weights, is computed tile by tile of m x m outputs, a
// = m + r - 1, with (a/m)² products where the definition takes r²:
//
//   winograd t1 4
//   t1[n, k, h, w] = Σ c, i, j  t0[n, c, h + i, w + j] * p1[k, c, i, j]
//     →
//   p1               is stored as G p1 G^T, of extents [K, C, a, a]: see AxisMap
//   t1.bd[n, c, y, u, w]       = (B^T d) of tile row y: rows transformed, columns not yet; 0 beyond t0
//   t1.v[u, v, n, c, y, x]     = (B^T d B) of tile (y, x)
//   t1.m[u, v, n, k, y, x]     = Σ c  t1.v[u, v, n, c, y, x] * p1[k, c, u, v]
//   t1.am[n, k, h, x, v]       = (A^T M) of tile x
//   t1[n, k, h, w]             = (A^T M A)
//
// The transforms are chains of selects on an index of a tile, which unrolling resolves. Legal as the first
// step on a stage that is a convolution in f32 (also grouped) of a constant that nothing else reads, for r =
// 3 with m = 2, 4, 6 and for r = 5 with m = 2, 4. Sums are of other terms than the definition's: it costs
// accuracy (numerics.h).

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Winograd& step);

}  // namespace tf::schedule
