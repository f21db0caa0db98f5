#pragma once
// Owns: runs in a child of this process: what hangs or crashes there takes nothing else along. Does not know:
// what is run.

#include <atomic>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/driver/turns.h"

namespace tf::driver {

struct RunLimits {
  absl::Duration each = absl::Seconds(30);  // of opening, and of each run
  const std::atomic<bool>* stop = nullptr;  // once it is set, what runs is ended; null: never
};

// Calls `open` in a child, which ends with the calling thread or the last copy of the result; a call of that
// is one there of what `open` gave. Of this process's other threads the child has none, so `open` must not
// wait for any. Errors, from then on of every call: those of `open` and its run, by their messages INTERNAL;
// DEADLINE_EXCEEDED by the limit, CANCELLED once stopped, ABORTED if the child died. Not thread-safe.
absl::StatusOr<Run> run_apart(const std::function<absl::StatusOr<Run>()>& open, const RunLimits& limits);

}  // namespace tf::driver
