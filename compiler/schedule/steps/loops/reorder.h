#pragma once
// Owns: the step `reorder`.
//
// Effect: the stage's loops stand in the given order.
//
//   reorder t0 r0,i1,i0
//   for i0 in 4             →  for r0 in 8
//     for i1 in 3                for i1 in 3
//       for r0 in 8                for i0 in 4
//         t0[i0, i1] += …            t0[i0, i1] += …
//
// Legal if every loop of the stage is named once, a vectorized loop stays innermost, and the loops from the
// outermost to the innermost one that other stages are computed in keep their places.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Reorder& step);

}  // namespace tf::schedule
