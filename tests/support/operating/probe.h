#pragma once
// Owns: calling any method of a daemon by its name, and so its gRPC health and reflection, as probes and
// grpcurl do. Debian has no stubs of these two: the messages are bytes here.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"

namespace grpc {
class Channel;
}

namespace tf::test {

// One message there, one back, within ten seconds; the server's refusal as it is. An empty request is a
// message of any type.
absl::StatusOr<std::string> call(const std::shared_ptr<grpc::Channel>& channel, std::string_view method,
                                 const std::string& request = "");

// What Health/Check answers of the server as a whole.
absl::StatusOr<std::string> health(const rpc::Endpoint& endpoint);
inline const std::string kServing = "\x08\x01";  // HealthCheckResponse: status = 1, SERVING

// What reflection answers to list_services: the names of all are in it.
absl::StatusOr<std::string> services(const rpc::Endpoint& endpoint);

}  // namespace tf::test
