#pragma once
// Owns: the step `root`.
//
// Effect: undoes compute_at: the stage is computed whole, before its readers.
//
//   root t0
//   for i0 in 8                       →  for i0 in 8
//     allocate t0[4]                       for i1 in 4
//     for i1 in 4                            t0[i0, i1] = …
//       t0[i1] = …                       for i0 in 8
//     for i1 in 4                          for i1 in 4
//       t1[i0, i1] = t0[i1]                  t1[i0, i1] = t0[i0, i1]
//
// Legal if the stage is placed by compute_at, was not reshaped since, no stage is computed inside it, and it
// reads none that is placed by compute_at.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Root& step);

}  // namespace tf::schedule
