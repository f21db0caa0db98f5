#pragma once
// Owns: the step `annotate`.
//
// Effect: says how the loop runs.
//
//   annotate t0 i1 vectorize
//   for i0 in 4             →  for i0 in 4
//     for i1 in 16               t0[i0, 0:16] = …   (one vector operation)
//       t0[i0, i1] = …
//
//   annotate t0 r0 vectorize: the lanes are folded, which is a licence to reassociate
//   for i0 in 4             →  for i0 in 4
//     t0[i0] = 0                 t0[i0] = 0
//     for r0 in 16               t0[i0] = t0[i0] + reduce_add(a[i0, 0:16])
//       t0[i0] = t0[i0] + a[i0, r0]
//
// Legal: parallel, on a spatial loop of a stage at root, once a nest; vectorize, on the innermost loop, not
// of a product, of extent at most kMaxVectorLanes, with no stage computed in it; unroll, up to
// kMaxUnrollExtent; grid loops, on spatial loops of a stage at root; thread loops, on spatial loops with no
// stage computed in them. Inside another stage a thread loop runs over the threads around it, which must be
// enough.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

inline constexpr int64_t kMaxVectorLanes = 64;
inline constexpr int64_t kMaxUnrollExtent = 256;

std::optional<Illegal> apply_step(StateData& data, const Annotate& step);

}  // namespace tf::schedule
