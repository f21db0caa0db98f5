#pragma once
// Owns: oneDNN's matrix products and convolutions. Does not know: timing. Built only where oneDNN is
// installed.

#include <vector>

#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/contender.h"

namespace tf::peers {

// One contender an algorithm that oneDNN has for the kernel (direct, Winograd). Of convolutions it chooses
// all layouts, of constant operands theirs; putting them in order is not part of a run. Empty without oneDNN,
// with a line on stderr. `tolerance` is that of plain sums.
std::vector<Contender> onednn_contenders(const bench::Kernel& kernel, const bench::Operands& operands,
                                         int threads, double tolerance);

}  // namespace tf::peers
