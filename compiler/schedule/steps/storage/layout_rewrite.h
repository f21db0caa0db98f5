#pragma once
// Owns: the step `layout_rewrite`.
//
// Effect: the buffer of a constant input or of a stage's own result is stored in that order. Constants are
// packed when a model is built, outside the measured time.
//
//   layout_rewrite p1 0,1,2,3,1:16,0:16
//   p1: f32[64, 64, 3, 3]   →   p1: f32[64, 64, 3, 3] stored as [4, 4, 3, 3, 16, 16]
//
// Legal for constant inputs and stages that are no output, with a layout of the buffer's rank without
// swizzle. The layout of a stage computed inside another holds for its region.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

inline constexpr int64_t kMaxLayoutBlock = 4096;

// Row-major, or every axis stands exactly once without a block and literal blocks are at least 1.
bool is_layout_of(const OpenLayout& layout, int rank);
// Nothing if it is one, and its open blocks are.
std::optional<Illegal> check_layout(StateData& data, const OpenLayout& layout, int rank);

std::optional<Illegal> apply_step(StateData& data, const LayoutRewrite& step);

}  // namespace tf::schedule
