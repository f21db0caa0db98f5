#pragma once
// Owns: what we read from object files: symbols that they lack and a digest of what they run. Does not know:
// LLVM's code generation.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tf::backends {

// Names that the object uses and does not define, sorted. Any format that LLVM reads.
absl::StatusOr<std::vector<std::string>> undefined_symbols(std::string_view object);

// SHA-256, hexadecimal, of code and read-only data with their relocations. Symbols' own names do not matter:
// the same kernel under another name has the same digest.
absl::StatusOr<std::string> code_digest(std::string_view object);

}  // namespace tf::backends
