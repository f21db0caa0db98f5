#pragma once
// Owns: how a command reaches a running tracker, by its options. Does not know: what it asks.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/identity/credentials.h"

namespace tf::tracker {

struct TrackerLink {
  rpc::Endpoint endpoint;
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text
};

// From a command's --tracker and --tls (empty: plain text). INVALID_ARGUMENT: no HOST:PORT.
// rpc::credentials_of_command's errors.
absl::StatusOr<TrackerLink> link_to(const std::string& tracker, const std::string& tls);

}  // namespace tf::tracker
