#pragma once
// Owns: what is served over HTTP: the calls of the gRPC services as JSON, what describes them, and the page.
// Each call goes through gRPC to the services themselves, so that whatever they check holds here, too. Does
// not know: sockets, TLS.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/metrics/metric.h"
#include "tuner/web/gateway/routes.h"
#include "tuner/web/http/exchange.h"

namespace tf::web {

struct GatewayOptions {
  std::shared_ptr<grpc::Channel> tuner;    // to the services of this process
  std::shared_ptr<grpc::Channel> tracker;  // that the tuner itself uses
  std::vector<std::string> host_names;     // of this server, in lower case
  uint64_t most_model_bytes = 0;
  size_t most_json_bytes = 1 << 20;
  int most_streams = 128;
  absl::Duration call_timeout = absl::Minutes(1);
  absl::Duration heartbeat = absl::Seconds(15);  // of event streams without news
};

class Gateway final : public Handler {
 public:
  explicit Gateway(GatewayOptions options) : options_(std::move(options)) {}
  asio::awaitable<void> serve(Exchange& exchange) override;
  int streams() const { return streams_; }

 private:
  asio::awaitable<void> serve_api(Exchange& exchange);
  asio::awaitable<void> serve_asset(Exchange& exchange);
  asio::awaitable<void> serve_session(Exchange& exchange);
  asio::awaitable<void> serve_call(Exchange& exchange, const Route& route);
  asio::awaitable<void> answer_message(Exchange& exchange, const Route& route, std::string request);
  asio::awaitable<void> answer_parts(Exchange& exchange, const Route& route, std::string request);
  asio::awaitable<void> submit(Exchange& exchange, const Route& route);
  asio::awaitable<absl::StatusOr<std::string>> request_of(Exchange& exchange, const Route& route);

  const GatewayOptions options_;
  std::atomic<int> streams_ = 0;
};

}  // namespace tf::web
