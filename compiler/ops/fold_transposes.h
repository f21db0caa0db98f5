#pragma once
// Owns: making transposes part of what reads or makes the elements. Does not know: whether that pays.

#include "compiler/tensor/workload.h"

namespace tf::ops {

// The same workload without stages that only put elements in another order: readers take each element from
// where it comes from, and a stage whose result is only put in order for the output makes it in that order.
//
//   t0[i, j, k] = p0[i, k, j]                        t0[i, j, k] = sum p0[i, r, j] * p1[i, r, k]
//   t1[i, j, k] = sum t0[i, j, r] * p1[i, r, k]  →
//
// A transpose of an input that is all there is stays.
tensor::Workload fold_transposes(tensor::Workload workload);

}  // namespace tf::ops
