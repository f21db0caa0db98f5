#include "rpc/ports.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/metrics/page.h"
#include "rpc/server.h"

namespace tf::rpc {

absl::Status check_ports(const Endpoint& listen, const std::string& metrics) {
  TF_RETURN_IF_ERROR(check_bindable(listen));
  if (metrics.empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const Endpoint page, metrics_endpoint(metrics));
  if (page.port != 0 && page.text() == listen.text())
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics ", metrics, " is where --listen is: give it another port"));
  return check_bindable(page);
}

}  // namespace tf::rpc
