#pragma once
// Owns: the step `split`.
//
// Effect: the loop becomes 1 + factors.size() loops; the innermost have the factors as extents, the outermost
// what is left, rounded up.
//
//   split t0 i0 4 (extent 10)
//   for i0 in 10            →  for i0.0 in 3
//     t0[i0] = …                 for i0.1 in 4
//                                  if i0.0*4 + i0.1 < 10
//                                    t0[i0.0*4 + i0.1] = …
//
//   split t0 i0 4 shift: no guard, the last tile starts at 10 - 4:
//                              for i0.0 in 3
//                                for i0.1 in 4
//                                  t0[min(i0.0*4, 6) + i0.1] = …
//
// Legal if the loop exists, every factor is at least 1 and literal, and no other stage is computed at that
// loop or inside it but outside of where the factors go. A shifted tail needs an element-wise stage and an
// extent of at least the product of the factors.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// Of each factor and of their product: far more than any loop has, and products of two still fit.
inline constexpr int64_t kMaxSplitFactor = int64_t{1} << 30;

std::optional<Illegal> apply_step(StateData& data, const Split& step);

}  // namespace tf::schedule
