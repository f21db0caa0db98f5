#pragma once
// Owns: oneDNN as a peer: which of its primitives computes a kernel. Does not know: timing. Built only where
// oneDNN is installed.

#include <vector>

#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/contender.h"

namespace tf::peers {

// One contender an algorithm that oneDNN has for the kernel (direct, Winograd), with what the kernel fuses as
// its post-ops. Of convolutions it chooses all layouts, of constant operands theirs, other feature maps are
// blocked by channels as between its convolutions; putting them in order is not part of a run. Empty without
// oneDNN, with a line on stderr, and where no primitive computes the kernel. `tolerance` is that of plain
// sums.
struct OnednnOptions {
  int threads = 1;
  double tolerance = 0;
  // Of f32 kernels also with factors that are bf16, converted before: what --allow bf16 is to be compared
  // with.
  bool bf16 = false;
};
std::vector<Contender> onednn_contenders(const bench::Kernel& kernel, const bench::Operands& operands,
                                         const OnednnOptions& options);

}  // namespace tf::peers
