#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/metrics/page.h"

namespace tf::rpc {

absl::StatusOr<Endpoint> metrics_endpoint(const std::string& text) {
  TF_ASSIGN_OR_RETURN(Endpoint listen, parse_endpoint(text));
  if (listen.is_loopback()) return listen;
  return absl::InvalidArgumentError(absl::StrCat(
      "--metrics ", listen.text(), ": metrics are served without TLS, on loopback only: use 127.0.0.1:",
      listen.port, " and read them with a local Prometheus agent or a TLS proxy"));
}

}  // namespace tf::rpc
