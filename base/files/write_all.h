#pragma once
// Owns: writing all of something to an open descriptor, however few bytes it takes at a time.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tf {

// The errno's status, as of a full disk; it calls the descriptor `name`.
absl::Status write_all(int fd, std::string_view bytes, const std::string& name);

}  // namespace tf
