#pragma once
// Owns: whole-file reads and atomic, durable whole-file writes.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf {

// The file's bytes. NOT_FOUND, PERMISSION_DENIED or INTERNAL, with the path and the reason.
absl::StatusOr<std::string> read_file(const std::string& path);

// Replaces the file as one step: a reader sees the old bytes or the new ones, also after a crash (write to a
// temporary neighbour, fsync, rename, fsync the folder).
absl::Status write_file(const std::string& path, std::string_view bytes);

}  // namespace tf
