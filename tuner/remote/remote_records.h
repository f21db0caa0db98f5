#pragma once
// Owns: the records of a running tuner as a Records: what `--db tuner://HOST:PORT` opens. Does not know:
// jobs, tuning; who uses it links to nothing else of the tuner.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "database/store.h"

namespace tf::remote {

// Connects to the tuner at "HOST:PORT" and asks it for a sign of life. INVALID_ARGUMENT: no endpoint, or not
// loopback. UNAVAILABLE: no tuner answers there. Fits database::RemoteOpener.
absl::StatusOr<std::unique_ptr<database::Records>> open_remote_records(const std::string& host_port);

}  // namespace tf::remote
