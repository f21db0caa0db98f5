#pragma once
// Owns: the golden kernel for NVIDIA GPUs, as PTX. Does not know: how it is run.

namespace tf::agent {

extern const char kGoldenPtx[];  // of golden_kernel.cu

}  // namespace tf::agent
