#pragma once
// Owns: reading a kernel's resources from the log of NVIDIA's assembler. Does not know: how the log was made.

#include <map>
#include <string>
#include <string_view>

#include "compiler/backends/backend.h"

namespace tf::backends {

// The resources by kernel, from a log with -v. Those of functions that a kernel calls are added. Other lines
// are ignored.
std::map<std::string, Resources> read_ptxas_log(std::string_view log);

}  // namespace tf::backends
