#pragma once
// Owns: moving as many bytes as a kernel has to, and nothing else: the least time in which it can run. Does
// not know: kernels.

#include <functional>

#include "tests/bench/kernels/kernel_table.h"
#include "tests/bench/peers/our_kernel.h"

namespace tf::peers {

// One run reads and writes so many bytes, each once, on the runtime's threads. Its buffers are its own and as
// hot as those of the kernel, in the same level of cache. The runtime outlives what is returned.
std::function<void()> memory_traffic(const bench::Traffic& traffic, const Runtime& runtime);

}  // namespace tf::peers
