#pragma once
// Owns: the bytes of the golden kernel's shared object, which the build puts into this library.

#include <string_view>

namespace tf::agent {

std::string_view golden_library();

}  // namespace tf::agent
