#include "rpc/connection/ports.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/connection/server.h"
#include "rpc/metrics/page.h"

namespace tf::rpc {

absl::Status check_ports(const std::vector<Endpoint>& listen, const std::string& metrics) {
  std::set<std::string> taken;
  for (const Endpoint& each : listen) {
    TF_RETURN_IF_ERROR(check_bindable(each, "--listen"));
    if (each.port != 0 && !taken.insert(each.text()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("--listen ", each.text(), " is given twice: use different ports"));
  }
  if (metrics.empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const Endpoint page, metrics_endpoint(metrics));
  if (taken.contains(page.text()))
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics ", metrics, " is the same as --listen: give it another port"));
  return check_bindable(page, "--metrics");
}

}  // namespace tf::rpc
