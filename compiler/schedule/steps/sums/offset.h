#pragma once
// Owns: the step `offset`.
//
// Effect: one factor of a sum of products of bytes is moved by half of its range, so that it has the other
// sign: x86 multiplies unsigned by signed bytes. What that adds to each sum is the same for all elements of
// the moved factor, `value` times the sum of the other factor's elements: readers take it off. Of a constant,
// these sums are one more constant, the next input, made outside of the measured time (StateData::sums); of
// anything else they are a stage before STAGE, STAGE.sums.
//
//   offset t0 p0 128
//   t0[i, j] = sum(r) i32(p0[i, r]) * i32(p1[r, j])    →    p2[0, j] = sum(r) i32(p1[r, j])
//                                                           t0[i, j] = sum(r) (i32(p0[i, r]) + 128)
//                                                                              * i32(p1[r, j])
//   t1[i, j] = t0[i, j]                                     t1[i, j] = t0[i, j] - 128 * p2[0, j]
//
// A factor that a stage makes for this sum alone, element by element (a padded image), is stored moved: then
// the sum itself adds nothing to what it reads.
//
//   offset t1 t0 128
//   t0[i, r] = p0[i, r]                                →    t0[i, r] = u8(p0[i, r]) + 128, of u8
//   t1[i, j] = sum(r) i32(t0[i, r]) * i32(p1[r, j])         t1[i, j] = sum(r) i32(t0[i, r]) * i32(p1[r, j])
//
// Exact: i32 wraps. Legal for a stage that is no output and sums such products in i32, of loads without
// predicates, over whole axes of the other factor: for i8 by 128, for u8 by -128.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

std::optional<Illegal> apply_step(StateData& data, const Offset& step);

}  // namespace tf::schedule
