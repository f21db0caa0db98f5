#pragma once
// Owns: kernels that show what matrix instructions of four warps read by a descriptor and which lanes get what, as
// matrix_probes.h. Does not know: how kernels are run.

#include <vector>

#include "compiler/backends/cuda/matrix_probes.h"

namespace tf::backends {

// Of each instruction of the target that reads shared memory, from lines of terms and, of 16 bits, of rows and columns. A row of
// a is 1 at one term, another for each row and each of some shifts, and 0 elsewhere; b is numbered. The factors start with
// the second step of terms in their lines.
std::vector<MatrixProbe> group_probes(const target::Target& target);

}  // namespace tf::backends
