#pragma once
// Owns: from the text of a workload and a schedule to an artifact (manifest, blobs, launch plan), in this
// process. Does not know: child processes, devices, the tuner. LLVM keeps process-wide state: only build
// workers and tests call this, from one thread; everybody else goes through build_pool.h.

#include "compiler/schedule/schedule.h"
#include "compiler/tensor/workload.h"

namespace tunefarm::kernel::v1 {
class BuildReply;
class BuildRequest;
}  // namespace tunefarm::kernel::v1

namespace tf::driver {

// The answer check's c of |y - ref| <= c * sum|a||b|, of a bound workload: u * (16 + 4 * sqrt(n)), where u is
// the unit roundoff of the coarsest float that is stored or computed, and n is the number of terms that its
// reductions fold into one element, in all. Both sides may sum in any order: each partial sum is off by at
// most u times the magnitude so far, so n*u is a bound, and sqrt(n)*u with a wide factor is what independent
// roundings give (Higham, Accuracy and Stability of Numerical Algorithms, 2.8); the 16 covers epilogues and
// our exp, tanh and erf. 0 if there are no floats. A schedule that sums other terms than the definition's
// (schedule/numerics.h) multiplies it, one that stores factors narrower adds to it.
double tolerance(const tensor::Workload& workload, const schedule::Schedule& schedule = {});

// Answers a request of any kind. Every text of it is checked: errors are INVALID_ARGUMENT or FAILED_PRECONDITION (an illegal
// schedule), in the reply, with a line for people.
//
// A kernel is parsed, verified, bound, scheduled, lowered and compiled; the reply's phases are "parse", "lower", "emit",
// "optimize", "machine", "link". With `reference` set the schedule must be empty: the artifact computes the outputs and then
// their magnitudes, by plain loops over row-major buffers. A model is linked, and one kernel shown to people, as its loop IR or
// its assembly, without an artifact; LLVM runs only for assembly.
tunefarm::kernel::v1::BuildReply build(const tunefarm::kernel::v1::BuildRequest& request);

}  // namespace tf::driver
