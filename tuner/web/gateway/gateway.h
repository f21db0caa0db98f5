#pragma once
// Owns: what is served over HTTP: the calls of the gRPC services as JSON, what describes them, and the page.
// Each call goes through gRPC to the services themselves, so that whatever they check holds here, too. Does
// not know: sockets, TLS.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tuner/web/gateway/gate.h"
#include "tuner/web/gateway/routes.h"
#include "tuner/web/gateway/upstream_call.h"
#include "tuner/web/http/exchange.h"

namespace tf::web {

struct GatewayOptions {
  std::shared_ptr<grpc::Channel> tuner;    // to the services of this process
  std::shared_ptr<grpc::Channel> tracker;  // as the tuner itself calls it
  // Of a secured tuner, both; they outlive the gateway.
  rpc::CallGuard* guard = nullptr;
  rpc::BearerTokens* tokens = nullptr;
  std::function<std::vector<std::string>()> host_names;  // of this server, in lower case
  uint64_t most_model_bytes = 0;
  size_t most_json_bytes = 1 << 20;
  int most_calls = 128;  // at once, without streams
  int most_streams = 128;
  int most_uploads = 32;
  absl::Duration call_timeout = absl::Minutes(1);
  absl::Duration heartbeat = absl::Seconds(15);  // of event streams without news
};

class Gateway final : public Handler {
 public:
  explicit Gateway(GatewayOptions options)
      : options_(std::move(options)), gate_(options_.guard, options_.tokens) {}
  asio::awaitable<void> serve(Exchange& exchange) override;
  int streams() const { return streams_; }

 private:
  asio::awaitable<void> serve_api(Exchange& exchange);
  asio::awaitable<void> serve_described(Exchange& exchange);
  asio::awaitable<void> serve_asset(Exchange& exchange);
  asio::awaitable<void> serve_session(Exchange& exchange, const WebCaller& caller);
  asio::awaitable<void> serve_call(Exchange& exchange, const Route& route, const WebCaller& caller);
  asio::awaitable<void> answer_message(Exchange& exchange, const Route& route, const WebCaller& caller,
                                       std::string request);
  asio::awaitable<void> answer_parts(Exchange& exchange, const Route& route, const WebCaller& caller,
                                     std::string request);
  asio::awaitable<void> submit(Exchange& exchange, const Route& route, const WebCaller& caller);
  asio::awaitable<absl::StatusOr<std::string>> request_of(Exchange& exchange, const Route& route);
  // In the name of the caller, ended when that goes.
  std::shared_ptr<UpstreamCall> begin(Exchange& exchange, const Route& route, const WebCaller& caller,
                                      absl::Duration deadline);

  const GatewayOptions options_;
  Gate gate_;
  std::atomic<int> calls_ = 0;
  std::atomic<int> streams_ = 0;
  std::atomic<int> uploads_ = 0;
};

}  // namespace tf::web
