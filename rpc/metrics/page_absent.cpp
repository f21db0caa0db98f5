// In place of page_prometheus.cpp where programs carry their libraries inside: Debian's prometheus-cpp has no
// archives.

#include <utility>

#include "base/status.h"
#include "rpc/metrics/page.h"

namespace tf::rpc {

struct MetricsPage::Parts {};

absl::StatusOr<std::unique_ptr<MetricsPage>> MetricsPage::start(const std::string& listen,
                                                                ReadMetrics /*read*/) {
  if (listen.empty()) return nullptr;
  TF_RETURN_IF_ERROR(metrics_endpoint(listen).status());
  return absl::UnimplementedError(
      "--metrics: this program was built without the metrics library: omit the option");
}

MetricsPage::MetricsPage(std::unique_ptr<Parts> parts, Endpoint endpoint)
    : parts_(std::move(parts)), endpoint_(std::move(endpoint)) {}

MetricsPage::~MetricsPage() = default;

}  // namespace tf::rpc
