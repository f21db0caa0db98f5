#pragma once
// Owns: the step `cache_write`.
//
// Effect: the stage computes into a copy, NAME.acc, which can be placed and tiled by itself; the stage
// becomes its element-wise reader.
//
//   cache_write t0
//   t0[i, j] = sum(r) a[i, r] * b[r, j]    →   t0.acc[i, j] = sum(r) a[i, r] * b[r, j]
//                                              t0[i, j] = t0.acc[i, j]
//
// Legal if the stage is not inlined, not split, fused or reordered, holds no other stage and reads none that
// is placed by compute_at.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const CacheWrite& step);

}  // namespace tf::schedule
