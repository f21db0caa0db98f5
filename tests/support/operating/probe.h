#pragma once
// Owns: asking a daemon's gRPC health and reflection, as probes and grpcurl do. Debian has no stubs of either
// service: the messages are bytes here.

#include <string>

#include "absl/status/statusor.h"
#include "rpc/endpoint.h"

namespace tf::test {

// What Health/Check answers of the server as a whole.
absl::StatusOr<std::string> health(const rpc::Endpoint& endpoint);
inline const std::string kServing = "\x08\x01";  // HealthCheckResponse: status = 1, SERVING

// What reflection answers to list_services: the names of all are in it.
absl::StatusOr<std::string> services(const rpc::Endpoint& endpoint);

}  // namespace tf::test
