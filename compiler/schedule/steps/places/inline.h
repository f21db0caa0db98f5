#pragma once
// Owns: the step `inline`.
//
// Effect: an element-wise stage becomes part of each reader's body and is not stored.
//
//   inline t0
//   t0[i] = a[i] * 2       →   t1[i] = a[i] * 2 + 1
//   t1[i] = t0[i] + 1
//
// Legal if the stage has no reduction, is no output, is at root with no stage computed inside it, and has a
// reader.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Inline& step);

}  // namespace tf::schedule
