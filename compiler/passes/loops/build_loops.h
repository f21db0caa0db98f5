#pragma once
// Owns: the first step of lowering: a schedule's state becomes loop nests over logical indices. Does not
// know: physical storage, vectors.

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"
#include "compiler/passes/lower.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

// Root stages stand in order; a stage placed by compute_at stands at the start of its consumer's loop, in a
// buffer of its region's size whose indices count from the region's origin. A reduction starts from the
// neutral element just before its outermost reduce loop, over the spatial loops inside of that. Guards of
// factors that do not divide stand as far out as their variables allow, and where stages are computed outside
// of them, these stages stand under the same guard for the first iterations inside: tiles beyond an edge are
// not computed.
//
//   t0[i] = sum(r) a[i, r], split i 4    →   for i.0 in 3
//                                              for i.1 in 4
//                                                if i.0*4 + i.1 < 10 {
//                                                  t0[i.0*4 + i.1] = 0
//                                                  for r in 8
//                                                    t0[i.0*4 + i.1] = t0[i.0*4 + i.1] + a[i.0*4 + i.1, r] }
//
// Buffers carry their layouts, indices stay logical. INVALID_ARGUMENT if the port layouts do not fit the
// workload.
absl::StatusOr<ir::Function> build_loops(const schedule::State& state, const tensor::PortLayouts& ports,
                                         const std::string& name);

}  // namespace tf::passes
