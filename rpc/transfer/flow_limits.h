#pragma once
// Owns: how much of one lease may be on its way, at the tracker and at an agent that is reached directly.
// Does not know: who carries it.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tf::rpc {

// Of one trial, which names its artifacts and carries signatures with their certificate: 2 KiB do. What a
// device is told of a slot has several of them, and what cannot be told would be said again for ever.
inline constexpr uint64_t kMostTrialBytes = 64 << 10;

// INVALID_ARGUMENT: a serialized trial of so many bytes is passed on to no device.
inline absl::Status check_trial_bytes(uint64_t bytes) {
  if (bytes <= kMostTrialBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a trial message may have at most ", kMostTrialBytes,
                                                 " bytes, not ", bytes, ": upload its artifacts separately"));
}

// Whoever passes trials on reads no more of them from their holder while they are at their limit, and gives
// the device none while its answers are at theirs: a peer that does not read stops the others instead of
// filling memory. What is held beyond a limit is what was under way when it was reached: one trial, and one
// answer for each trial that the device had.
struct FlowLimits {
  size_t trials = 256;  // unanswered
  uint64_t trial_bytes = 8 << 20;
  size_t replies = 256;  // not acknowledged
  uint64_t reply_bytes = 8 << 20;
};

// Trials that an agent has ahead through the tracker: so many, and the first whatever its size.
inline constexpr uint64_t kWindowBytes = 1 << 20;

}  // namespace tf::rpc
