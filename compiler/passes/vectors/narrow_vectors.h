#pragma once
// Owns: the pass that computes only the lanes that are read.

#include "compiler/ir/stmt.h"

namespace tf::passes {

// Where an edge tile is known to end inside of a vector, the lanes beyond are computed into registers and
// never stored. A vector store of which the last lanes are known not to run, or to write elements of a
// register buffer that nothing reads, keeps half of its lanes, or a quarter and so on, down to kLeastLanes;
// one without any such lane is gone. Buffers must be flat and vectors explicit.
//
//   acc[ramp(0, 1, 16)] = 0
//   acc[ramp(16, 1, 16)] = 0
//   for k in n
//     acc[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] + a[k] * b[ramp(k*16, 1, 16)]
//     acc[ramp(16, 1, 16)] = …
//   c[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] if ramp(0, 1, 16) < 5
// →
//   acc[ramp(0, 1, 8)] = 0
//   for k in n
//     acc[ramp(0, 1, 8)] = acc[ramp(0, 1, 8)] + a[k] * b[ramp(k*16, 1, 8)]
//   c[ramp(0, 1, 8)] = acc[ramp(0, 1, 8)] if ramp(0, 1, 8) < 5
inline constexpr int kLeastLanes = 4;
ir::Function narrow_vectors(const ir::Function& function);

}  // namespace tf::passes
