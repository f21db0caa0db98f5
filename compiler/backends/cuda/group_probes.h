#pragma once
// Owns: test kernels that check on a GPU what matrix instructions of four warps (wgmma) read through a
// descriptor, and which lane gets which element, like matrix_probes.h. Does not know: how kernels are run.

#include <vector>

#include "compiler/backends/cuda/matrix_probes.h"

namespace tf::backends {

// Probes for each instruction of the target that reads shared memory: with lines of terms and, for 16-bit
// elements, with lines of rows and columns. Each row of a is 1 at one term, which differs between rows and
// between probes, and 0 elsewhere. The elements of b are numbered. The operands start at the second step of
// terms in their lines.
std::vector<MatrixProbe> group_probes(const target::Target& target);

}  // namespace tf::backends
