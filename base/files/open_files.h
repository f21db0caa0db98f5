#pragma once
// Owns: how many files a process may have open, of which each connection, pipe and child takes some. Does not
// know: what they are for.

#include <cstdint>

#include "absl/status/status.h"

namespace tf {

// With fewer, no program of ours does its work.
inline constexpr uint64_t kFewestOpenFiles = 64;

// Raises this process's own limit as far as `wanted` where the system lets it. FAILED_PRECONDITION if fewer
// than kFewestOpenFiles are left, with what to do. Not thread-safe.
absl::Status make_room_for_files(uint64_t wanted = 1024);

}  // namespace tf
