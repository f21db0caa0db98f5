#pragma once
// Owns: what NVIDIA's assembler says a kernel takes of the device, read from its log. Does not know: how that came about.

#include <map>
#include <string>
#include <string_view>

#include "compiler/backends/backend.h"

namespace tf::backends {

// Of a log under -v, by kernel; what a kernel calls is added to it. Lines of no meaning here are passed over.
std::map<std::string, Resources> read_ptxas_log(std::string_view log);

}  // namespace tf::backends
