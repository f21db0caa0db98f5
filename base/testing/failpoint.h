#pragma once
// Owns: named places where a test makes this process die, fail or dawdle: between a write and its commit,
// between a commit and its acknowledgement, within recovery. Off unless a main arms them; a place then costs
// one load. Does not know: what the places mean.

#include <atomic>
#include <string_view>

#include "absl/status/status.h"

namespace tf {

// Arms "NAME:NTH:ACTION", several separated by commas. NAME is a place, or * for any; NTH counts from 1 how
// often the process comes to it, 5+ means the fifth time and every later one. ACTION is kill (SIGKILL), error
// (the place's operation fails), delay=MILLISECONDS, or record (an event "failpoint" in the event log). Once,
// in main, before threads start. INVALID_ARGUMENT: malformed.
absl::Status arm_failpoints(std::string_view spec);

namespace failpoint_detail {
extern std::atomic<bool> armed;
absl::Status reached(std::string_view name);
}  // namespace failpoint_detail

// INTERNAL if the place is to fail now, else OK. Thread-safe.
inline absl::Status failpoint(std::string_view name) {
  if (!failpoint_detail::armed.load(std::memory_order_relaxed)) return absl::OkStatus();
  return failpoint_detail::reached(name);
}

// A place that may die or dawdle but has nothing to fail.
inline void killpoint(std::string_view name) {
  failpoint(name).IgnoreError();
}

}  // namespace tf
