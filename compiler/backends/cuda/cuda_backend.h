#pragma once
// Owns: the CUDA back end, for NVIDIA GPUs.

#include "compiler/backends/backend.h"

namespace tf::backends {

Backend cuda_backend();

}  // namespace tf::backends
