#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/metrics/page.h"

namespace tf::rpc {

absl::StatusOr<Endpoint> metrics_endpoint(const std::string& text) {
  TF_ASSIGN_OR_RETURN(Endpoint listen, parse_endpoint(text));
  if (listen.is_loopback()) return listen;
  return absl::InvalidArgumentError(absl::StrCat(
      "--metrics ", listen.text(), ": the page is plain text, which stays on loopback: use 127.0.0.1:",
      listen.port, ", and let a Prometheus agent on this machine, or a proxy with TLS, read it"));
}

}  // namespace tf::rpc
