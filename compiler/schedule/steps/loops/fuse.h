#pragma once
// Owns: the step `fuse`.
//
// Effect: adjacent loops become one.
//
//   fuse t0 i0,i1
//   for i0 in 4         →  for i0*i1 in 12
//     for i1 in 3            t0[i0*i1 // 3, i0*i1 % 3] = …
//       t0[i0, i1] = …
//
// Legal for two or more neighbouring loops, outermost first, all spatial or all of the reduction, that no
// other stage is computed in or inside of. The fused loop is serial.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Fuse& step);

}  // namespace tf::schedule
