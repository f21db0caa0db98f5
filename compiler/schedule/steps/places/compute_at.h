#pragma once
// Owns: the step `compute_at`.
//
// Effect: the stage is computed inside the consumer's loop, only the region that one iteration of it needs,
// into a buffer of that region's size. Its loops then run over the region.
//
//   compute_at t0 t1 i0 register
//   for i0 in 8                   →  for i0 in 8
//     for i1 in 4                      allocate t0[4] register
//       t0[i0, i1] = …                 for i1 in 4
//   for i0 in 8                          t0[i1] = …
//     for i1 in 4                      for i1 in 4
//       t1[i0, i1] = t0[i0, i1]          t1[i0, i1] = t0[i1]
//
// Legal if the stage is at root, no output, not split, fused or reordered, holds no other stage, is not
// parallel, and all its readers are the consumer or computed inside that loop. A register region is at most
// kMaxRegisterBytes, a shared one kMaxSharedBytes.
//
// A shared region is one thread block's: it holds what all threads around the loop need. Lowering puts
// barriers around its computation, in which the threads of the block take part by
// `annotate STAGE LOOP thread_x`.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

inline constexpr int64_t kMaxRegisterBytes = 16 << 10;
inline constexpr int64_t kMaxSharedBytes = 227 << 10;  // of a GPU with the most

std::optional<Illegal> apply_step(StateData& data, const ComputeAt& step);

}  // namespace tf::schedule
