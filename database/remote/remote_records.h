#pragma once
// Owns: the records of a running tuner as a Records: what `--db tuner://HOST:PORT` opens. Does not know:
// jobs, tuning.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "database/store_scheme.h"

namespace tf::remote {

// Connects to the tuner at "HOST:PORT" and asks it for a sign of life, as the member whose folder that is;
// empty: plain text. INVALID_ARGUMENT: no endpoint, or plain text beyond loopback. UNAVAILABLE: no tuner
// answers there.
absl::StatusOr<std::unique_ptr<database::Records>> open_remote_records(const std::string& host_port,
                                                                       const std::string& tls_folder = "");

extern const database::StoreScheme kTuner;

}  // namespace tf::remote
