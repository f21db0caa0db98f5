#include "rpc/grpc_status.h"

#include <grpcpp/support/status.h>

#include "absl/strings/match.h"
#include "base/remedy.h"
#include "rpc/identity/refusal.h"
#include "rpc/unreachable.h"

namespace tf::rpc {

absl::Status from_grpc(const grpc::Status& status) {
  // gRPC says no more of a service that is not there.
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty())
    return with_remedy(absl::StatusCode::kUnimplemented,
                       "who answers at that address does not know this call",
                       "check that the port is a tuner's where a tuner is asked and a tracker's where a "
                       "tracker is, and that both programs are of one version");
  return with_remedy_of_refusal(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()));
}

grpc::Status to_grpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status from_grpc(const grpc::Status& status, const std::string& what, const Endpoint& endpoint,
                       bool secured) {
  const auto says = [&](const char* words) { return absl::StrContains(status.error_message(), words); };
  const bool unconnected = status.error_code() == grpc::StatusCode::UNAVAILABLE &&
                           (says("failed to connect") || says("DNS") || says("Connection refused") ||
                            says("handshake failed") || says("verification check failed"));
  if (unconnected) return unreachable(what, endpoint, secured, status.error_message());
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty())
    return knows_no_such_call(what, endpoint);
  return from_grpc(status);
}

}  // namespace tf::rpc
