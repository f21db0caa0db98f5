#pragma once
// Owns: how messages stand on the stream between a build pool and its workers: a 32-bit little-endian length,
// then that many bytes. Does not know: what they mean.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tf::driver {

inline constexpr uint32_t kMaxFrameBytes = 1u << 30;

// Both work on a connected socket and give up at the deadline with DEADLINE_EXCEEDED. A peer that has gone is
// UNAVAILABLE; so is the end of the stream between frames.
absl::Status write_frame(int socket, std::string_view bytes, absl::Time deadline);
absl::StatusOr<std::string> read_frame(int socket, absl::Time deadline);

}  // namespace tf::driver
