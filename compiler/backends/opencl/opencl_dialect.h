#pragma once
// Owns: the dialect of OpenCL C 1.2, which is also valid OpenCL C 3.0. Does not know: kernels.

#include "compiler/backends/gpu/dialect.h"

namespace tf::backends {

const GpuDialect& opencl_dialect();

}  // namespace tf::backends
