#pragma once
// Owns: which copies of a pipeline a GPU's copy engine (CUDA's TMA) can make. Does not know: how they are
// lowered.

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// Whether the stage copies an unchanged row-major input with constant extents, whose rows start at multiples
// of 16 bytes, and is stored in consecutive swizzled lines of 128 bytes. If the last axis is longer than a
// line, the rest is in further blocks of lines.
bool is_bulk_copy(const StateData& data, const StageState& stage);

// The axis of the stage along which such lines follow each other; -1 if it has only one axis.
int axis_across_lines(const StateData& data, const StageState& stage);

}  // namespace tf::schedule
