#pragma once
// Owns: the CUDA C dialect, for NVRTC without any header. Does not know: kernels.

#include "compiler/backends/gpu/dialect.h"

namespace tf::backends {

const GpuDialect& cuda_dialect();

}  // namespace tf::backends
