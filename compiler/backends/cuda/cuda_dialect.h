#pragma once
// Owns: what CUDA C is, as NVRTC takes it without any header. Does not know: kernels.

#include "compiler/backends/gpu/dialect.h"

namespace tf::backends {

const GpuDialect& cuda_dialect();

}  // namespace tf::backends
