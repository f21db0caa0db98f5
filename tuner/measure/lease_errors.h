#pragma once
// Owns: what the errors of leases and their streams mean to a runner. Does not know: leases, streams.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tf::measure {

// The way to the device failed, and another attempt may succeed.
inline bool is_transient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status) ||
         absl::IsCancelled(status) || absl::IsInternal(status) || absl::IsUnknown(status);
}

// The tracker aborts a request for a lease when a newer run of its holder has asked: no attempt of this
// runner will fare better. A later one may, once that run is gone.
inline absl::Status superseded(const absl::Status& aborted) {
  return absl::UnavailableError(absl::StrCat("the tracker refuses leases to this run: ", aborted.message()));
}

// The only lease of a runner has ended: ABORTED if it made room for another holder, or if the trial had not
// begun, else UNAVAILABLE, because the trial may be the reason.
inline absl::Status lease_ended(const std::string& device, bool made_room) {
  const std::string what = absl::StrCat("the lease on device ", device, " has ended");
  return made_room ? absl::AbortedError(what) : absl::UnavailableError(what);
}

}  // namespace tf::measure
