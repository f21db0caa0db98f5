#pragma once
// Owns: the step `rfactor`.
//
// Effect: partial results over one reduce loop become a stage of their own, NAME.rf, with that loop as its
// first axis; the stage then only combines the partial results.
//
//   split t0 r0 16; rfactor t0 r0.0 (extent of r0: 64)
//   t0[i] = sum(r0) a[i, r0]     →   t0.rf[k, i] = sum(r) a[i, k*16 + r]     k in 4, r in 16
//                                    t0[i] = sum(r0) t0.rf[r0, i]
//
// Combining in another order changes rounding: the step is the schedule's licence to reassociate. Legal for a
// reduce loop of a stage whose spatial loops are as they started, that holds no stage and reads none that is
// placed by compute_at.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const RFactor& step);

}  // namespace tf::schedule
