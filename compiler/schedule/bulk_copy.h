#pragma once
// Owns: which copies of a pipeline the copy engine of a GPU (CUDA's TMA) can make. Does not know: how they are lowered.

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// Whether the stage is a row-major input as it is, of constant extents, whose lines but the first begin at multiples of 16 bytes,
// and lies in swizzled lines of 128 bytes, one behind the other: what the last axis has beyond a line in another block of them.
bool is_bulk_copy(const StateData& data, const StageState& stage);

// The axis of the stage along which such lines follow one another; -1: it has one axis.
int axis_across_lines(const StateData& data, const StageState& stage);

}  // namespace tf::schedule
