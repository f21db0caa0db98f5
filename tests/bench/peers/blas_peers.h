#pragma once
// Owns: OpenBLAS and BLIS. Both export the same symbols, so that each is opened on its own at run time and
// neither is linked. Does not know: timing.

#include <vector>

#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/contender.h"

namespace tf::peers {

// Those that are installed; a line on stderr for those that are not. Operands are borrowed. Matrix by vector
// is sgemv; neither library packs a constant operand beforehand. `tolerance` is that of plain sums.
std::vector<Contender> blas_contenders(const bench::Gemm& gemm, const bench::Operands& operands, int threads,
                                       double tolerance);

}  // namespace tf::peers
