#pragma once
// Owns: the page on which Prometheus reads a daemon's numbers (`--metrics HOST:PORT`), in plain text and
// therefore on loopback only. Does not know: what the numbers mean.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/metrics/metric.h"

namespace tf::rpc {

class MetricsPage {
 public:
  // Serves http://LISTEN/metrics from here on, in threads of its own: what `read` says, and
  // process_metrics(). What `read` uses must outlive the page. An empty `listen` (HOST:PORT): no page, null.
  // INVALID_ARGUMENT: no HOST:PORT, or beyond loopback. ALREADY_EXISTS: port in use; port 0 takes a free one.
  // UNIMPLEMENTED: this program was built without the library (a board's agent).
  static absl::StatusOr<std::unique_ptr<MetricsPage>> start(const std::string& listen, ReadMetrics read);
  ~MetricsPage();
  // Where it listens, with the real port.
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  struct Parts;
  MetricsPage(std::unique_ptr<Parts> parts, Endpoint endpoint);
  std::unique_ptr<Parts> parts_;
  Endpoint endpoint_;
};

// What `--metrics` may name: INVALID_ARGUMENT otherwise. Unlike other listeners it has no secured form.
absl::StatusOr<Endpoint> metrics_endpoint(const std::string& text);

}  // namespace tf::rpc
