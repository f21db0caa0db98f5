#pragma once
// Owns: the time of day as records have it. Does not know: time zones; clocks that tests stop.

#include <chrono>
#include <cstdint>

namespace tf {

// Nanoseconds since 1970.
inline int64_t now_unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace tf
