#pragma once
// Owns: a port on which HTTP is served, by a few threads however many connect. Does not know: what is served.

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/metrics/metric.h"
#include "tuner/web/http/connections.h"
#include "tuner/web/http/exchange.h"
#include "tuner/web/http/session.h"

namespace tf::web {

struct ListenerOptions {
  rpc::Endpoint listen;
  // Of the certificate that is shown to who connects now; null: plain text.
  std::function<std::shared_ptr<asio::ssl::context>()> tls = nullptr;
  SessionLimits session = {};
  ConnectionLimits connections = {};
  int threads = 2;
};

class Listener {
 public:
  // Serves from here on. The handler outlives the listener. ALREADY_EXISTS: port in use; port 0 takes a free
  // one.
  static absl::StatusOr<std::unique_ptr<Listener>> start(const ListenerOptions& options, Handler& handler);
  // Ends all connections; returns when nothing of them is under way any more.
  ~Listener();
  // With the real port.
  const rpc::Endpoint& endpoint() const;
  // What it shows Prometheus. Thread-safe.
  std::vector<rpc::MetricFamily> metrics() const;

 private:
  struct Parts;
  explicit Listener(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tf::web
