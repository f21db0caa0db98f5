#pragma once
// Owns: whole-file reads, atomic, durable whole-file writes, where the companions of a file stand, and what
// `-o FILE` means where FILE is no plain file.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf {

// No file that we read is larger: protobuf, and with it ONNX, ends there.
inline constexpr int64_t kMostFileBytes = int64_t{2} << 30;

// The file's bytes, or what comes out of a pipe until its end. NOT_FOUND, PERMISSION_DENIED or INTERNAL, with
// the path and the reason; FAILED_PRECONDITION for what is neither file nor pipe, and for more than
// `most_bytes`.
absl::StatusOr<std::string> read_file(const std::string& path, int64_t most_bytes = kMostFileBytes);

// As read_file(), but of a regular file only: FAILED_PRECONDITION for a pipe, whose writer could keep the caller waiting.
absl::StatusOr<std::string> read_regular_file(const std::string& path, int64_t most_bytes = kMostFileBytes);

// Where the file itself is, or would be: what the path's last part links to, also if nothing is there yet.
std::string linked_file(std::string path);

// The path of what belongs to a file and is named after it, as FILE.lock: beside the file itself, so that all
// names which links give to it have one. Where there is no plain file it stands beside the name that was
// given: nothing is made beside a device.
std::string companion_of(const std::string& path, std::string_view suffix);

// Replaces the file as one step: a reader sees the old bytes or the new ones, also after a crash (write to a
// temporary neighbour, fsync, rename, fsync the folder). Symbolic links are followed. What is there and no
// plain file (a device, a pipe), and what standard output is, stays and is written to.
absl::Status write_file(const std::string& path, std::string_view bytes);

// The same in parts, for what is too long for memory: `fill` writes to the descriptor that it is given, which
// is not its to close.
absl::Status replace_file(const std::string& path, const std::function<absl::Status(int)>& fill);

}  // namespace tf
