#pragma once
// Owns: one GET of a small file over HTTP, as strict as what comes from anybody's server needs it. Does not
// know: what is fetched.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::record_sets {

struct HttpOptions {
  std::string ca_file;  // certificates in PEM that may vouch for the server; empty: those of the system
  int64_t most_seconds = 600;    // for all of it
  int64_t stalled_seconds = 30;  // without 1 KiB a second
};

// Whether http_get takes it: https, or http of this machine; no user name, query or fragment. INVALID_ARGUMENT.
absl::Status check_url(const std::string& url);

// The body of a 200. Follows at most five redirects, all to https. NOT_FOUND for 404 and 410;
// FAILED_PRECONDITION if there is more than `most_bytes`; UNAVAILABLE with the URL and the reason otherwise:
// another status, no server, a certificate that nothing vouches for, a connection that ended too early.
absl::StatusOr<std::string> http_get(const std::string& url, int64_t most_bytes,
                                     const HttpOptions& options = {});

}  // namespace tf::record_sets
