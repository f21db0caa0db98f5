#pragma once
// Owns: how far the answers of a kernel may be from its definition's. Does not know: who checks them.

#include "compiler/schedule/schedule.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {

// The answer check's c of |y - ref| <= c * sum|a||b|, of a bound workload: u * (16 + 4 * sqrt(n)), where u is
// the unit roundoff of the coarsest float that is stored or computed, and n is the number of terms that its
// reductions fold into one element, in all. Both sides may sum in any order: each partial sum is off by at
// most u times the magnitude so far, so n*u is a bound, and sqrt(n)*u with a wide factor is what independent
// roundings give (Higham, Accuracy and Stability of Numerical Algorithms, 2.8); the 16 covers epilogues and
// our exp, tanh and erf. 0 if there are no floats. A schedule that sums other terms than the definition's
// (numerics.h) multiplies it, one that stores factors narrower adds to it.
double tolerance(const tensor::Workload& workload, const Schedule& schedule = {});

}  // namespace tf::schedule
