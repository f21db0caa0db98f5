#pragma once
// Owns: what `tuner serve --http` serves: the listener and what answers there. Does not know: jobs, records,
// how they are kept.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/metrics/metric.h"

namespace tf::rpc {
class BearerTokens;
class CallGuard;
class Credentials;
}  // namespace tf::rpc

namespace tf::web {

struct WebOptions {
  rpc::Endpoint listen;
  // Of a secured tuner, all three; guard and tokens outlive the server. It then speaks TLS with that
  // certificate and asks for tokens.
  std::shared_ptr<rpc::Credentials> credentials = nullptr;
  rpc::CallGuard* guard = nullptr;
  rpc::BearerTokens* tokens = nullptr;
  std::vector<std::string> host_names;     // by which browsers may call it, besides its address
  std::shared_ptr<grpc::Channel> tuner;    // to the services of this process
  std::shared_ptr<grpc::Channel> tracker;  // as the tuner itself calls it
  uint64_t most_model_bytes = 0;
};

class WebServer {
 public:
  // Serves from here on, in threads of its own. INVALID_ARGUMENT: plain text beyond loopback, or a host name
  // that is none. ALREADY_EXISTS: port in use; port 0 takes a free one.
  static absl::StatusOr<std::unique_ptr<WebServer>> start(const WebOptions& options);
  // Ends all connections. Before the server of those services ends.
  ~WebServer();
  // With the real port.
  const rpc::Endpoint& endpoint() const;
  // "https://localhost:7192/"
  std::string url() const;
  // What it shows Prometheus. Thread-safe.
  std::vector<rpc::MetricFamily> metrics() const;

 private:
  struct Parts;
  explicit WebServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tf::web
