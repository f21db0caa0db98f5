#pragma once
// Owns: the OpenCL back end, for all devices whose driver compiles OpenCL C.

#include "compiler/backends/backend.h"

namespace tf::backends {

Backend opencl_backend();

}  // namespace tf::backends
