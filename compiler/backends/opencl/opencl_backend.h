#pragma once
// Owns: the row of the OpenCL back end, for any device whose driver compiles OpenCL C.

#include "compiler/backends/backend.h"

namespace tf::backends {

Backend opencl_backend();

}  // namespace tf::backends
