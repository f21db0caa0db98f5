#pragma once
// Owns: the project's version, which stands once, in the top CMakeLists.txt. Does not know: the versions of
// what programs and files agree on.

#include <string_view>

namespace tf {

// As in "0.1.0". Defined in a file of its own, which is all that another version compiles anew.
std::string_view version();

}  // namespace tf
