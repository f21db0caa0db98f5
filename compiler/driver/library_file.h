#pragma once
// Owns: whether a shared library can be mapped: whole, and for this processor. Mapping part of one ends the
// process with a bus error, where dlopen reports nothing. Does not know: models.

#include <string>

#include "absl/status/status.h"

namespace tf::driver {

// FAILED_PRECONDITION for what is no ELF file, one of another processor, or one that was cut off.
absl::Status check_library_file(const std::string& path);

}  // namespace tf::driver
