#include "rpc/grpc_status.h"

#include <grpcpp/support/status.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tf::rpc {

absl::Status from_grpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status to_grpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status from_grpc(const grpc::Status& status, const char* what, const std::string& endpoint) {
  const bool mistrusted = status.error_code() == grpc::StatusCode::UNAVAILABLE &&
                          (absl::StrContains(status.error_message(), "handshake failed") ||
                           absl::StrContains(status.error_message(), "verification check failed"));
  if (mistrusted) {
    return absl::UnavailableError(
        absl::StrCat("the ", what, " at ", endpoint,
                     " is not of this farm, or a certificate has ended: check --tls "
                     "at both ends (",
                     status.error_message(), ")"));
  }
  // gRPC's own words for a refused connection name neither the service nor a remedy.
  const bool unreachable = status.error_code() == grpc::StatusCode::UNAVAILABLE &&
                           (absl::StrContains(status.error_message(), "failed to connect") ||
                            absl::StrContains(status.error_message(), "DNS") ||
                            absl::StrContains(status.error_message(), "Connection refused"));
  if (unreachable) {
    return absl::UnavailableError(
        absl::StrCat("no ", what, " answers at ", endpoint, ": check the address and that it is running"));
  }
  return from_grpc(status);
}

}  // namespace tf::rpc
