#pragma once
// Owns: which inputs of a scheduled kernel the output may be written over. Does not know: where buffers lie.

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::schedule {

// Inputs (positions) whose buffer may be the output's: one with the output's extents, element and layout,
// which only the output's own stage reads, each element for the result in its place alone, and where each
// result is written once and from then on never read:
//
//   t1[i, j] = max(t0[i, j] + p2[i, j], 0)         p2 may lie where t1 lies
//
// None if there are more outputs than one.
std::vector<int> in_place_inputs(const StateData& data, const tensor::PortLayouts& ports);

}  // namespace tf::schedule
