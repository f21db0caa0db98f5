#pragma once
// Owns: how many jobs may wait. Pure. Does not know: which jobs there are.

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace tf::service {

// Of jobs that neither run nor are over: queued and paused.
struct WaitingLimits {
  size_t in_all = 2000;
  size_t of_each = 200;  // of one submitter; nobody known is one
};

// Whether one more job of this submitter may wait. RESOURCE_EXHAUSTED says what is full, and what to do.
absl::Status check_room(const WaitingLimits& limits, const std::string& submitter, size_t waiting_in_all,
                        size_t waiting_of_submitter);

}  // namespace tf::service
