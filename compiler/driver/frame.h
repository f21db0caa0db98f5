#pragma once
// Owns: how messages stand on the stream between a build pool and its workers: a 32-bit little-endian length,
// then that many bytes. Does not know: what they mean.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::driver {

inline constexpr uint32_t kMaxFrameBytes = 1u << 30;

using Deadline = std::chrono::steady_clock::time_point;  // the wall clock may jump
inline constexpr Deadline kNever = Deadline::max();

// Both work on a connected socket and give up at the deadline with DEADLINE_EXCEEDED. A peer that has gone is
// UNAVAILABLE; so is the end of the stream between frames.
absl::Status write_frame(int socket, std::string_view bytes, Deadline deadline);
absl::StatusOr<std::string> read_frame(int socket, Deadline deadline);

}  // namespace tf::driver
