#pragma once
// Owns: the step `cache_read`.
//
// Effect: adds a stage SOURCE.pack that copies the source, stored in `layout`; `reader` reads the copy.
// Placed inside the reader's loops by compute_at it packs one tile at a time.
//
//   cache_read p1 t0 1,0 global
//   t0[i, j] = sum(r) a[i, r] * b[r, j]    →   p1.pack[r, j] = b[r, j]      (stored with r innermost)
//                                              t0[i, j] = sum(r) a[i, r] * p1.pack[r, j]
//
// Legal if the reader reads the source, which is an input or a stage at root, and holds no stage itself that
// would no longer be read there.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const CacheRead& step);

}  // namespace tf::schedule
