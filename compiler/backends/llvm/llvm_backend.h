#pragma once
// Owns: the row of the LLVM back end, for every CPU.

#include "compiler/backends/backend.h"

namespace tf::backends {

Backend llvm_backend();

}  // namespace tf::backends
