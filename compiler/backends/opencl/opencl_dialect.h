#pragma once
// Owns: what OpenCL C 1.2 is, which is OpenCL C 3.0 as well. Does not know: kernels.

#include "compiler/backends/gpu/dialect.h"

namespace tf::backends {

const GpuDialect& opencl_dialect();

}  // namespace tf::backends
