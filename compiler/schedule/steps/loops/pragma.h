#pragma once
// Owns: the step `pragma`.
//
// Effect: unroll_limit N unrolls the stage's innermost serial loops as long as they make at most N copies of
// the body.
//
//   pragma t0 unroll_limit 8
//   for i0 in 16            →  for i0 in 16
//     for i1 in 2                for i1 in 2 unrolled
//       for i2 in 4                for i2 in 4 unrolled
//
// Legal for 0 … kMaxUnrollLimit.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

inline constexpr int64_t kMaxUnrollLimit = 1024;

std::optional<Illegal> apply_step(StateData& data, const Pragma& step);

}  // namespace tf::schedule
