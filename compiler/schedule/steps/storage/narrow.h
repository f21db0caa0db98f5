#pragma once
// Owns: the step `narrow`.
//
// Effect: the buffer of a constant input or of an element-wise stage's own result holds its f32 values as
// bf16 or f16, rounded to nearest; readers widen what they load, so that sums and results stay f32. Constants
// are converted when a model is built, before they are packed.
//
//   narrow p1 bf16
//   t0[i, j] = sum(r) p0[i, r] * p1[r, j]    →    t0[i, j] = sum(r) p0[i, r] * f32(p1[r, j])
//
// Legal for constants and for stages at root that are element-wise and no output, all of f32; not after
// `winograd`, whose transforms multiply the error of what lies between them. It costs accuracy (numerics.h).

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Narrow& step);

}  // namespace tf::schedule
