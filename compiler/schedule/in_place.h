#pragma once
// Owns: which inputs of a scheduled kernel the output may overwrite. Does not know: the placement of buffers.

#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::schedule {

// The positions of the inputs that may share the output's buffer. Such an input has the output's extents,
// element and layout. Only the output's own stage reads it, and each element only for the result at the same
// position. Each result is written once and never read afterwards:
//
//   t1[i, j] = max(t0[i, j] + p2[i, j], 0)         p2 and t1 may share a buffer
//
// Empty if there is more than one output.
std::vector<int> in_place_inputs(const StateData& data, const tensor::PortLayouts& ports);

}  // namespace tf::schedule
