#pragma once
// Owns: the step `storage_align`.
//
// Effect: one step along `axis`, the last but one, moves by a multiple of `factor` elements, plus `offset`.
//
//   storage_align t0 0 16 1
//   t0: f32[8, 10], pitch of axis 0: 10   →   pitch 17
//
// Legal for row-major buffers of rank 2 and more of stages that are no output.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

inline constexpr int64_t kMaxPadElements = 4096;

std::optional<Illegal> apply_step(StateData& data, const StorageAlign& step);

}  // namespace tf::schedule
