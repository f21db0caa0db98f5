#include "tuner/web/web_server.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "rpc/identity/credentials.h"
#include "rpc/identity/host_names.h"
#include "tuner/web/gateway/gateway.h"
#include "tuner/web/http/listener.h"

namespace tf::web {
namespace {

absl::StatusOr<std::vector<std::string>> names_of(const WebOptions& options) {
  std::vector<std::string> names = {absl::AsciiStrToLower(options.listen.host)};
  for (const std::string& name : options.host_names) {
    TF_ASSIGN_OR_RETURN(names.emplace_back(), rpc::canonical_host(name));
  }
  return names;
}

}  // namespace

// The listener goes first: it calls the gateway.
struct WebServer::Parts {
  std::unique_ptr<Gateway> gateway;
  std::unique_ptr<Listener> listener;
};

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::start(const WebOptions& options) {
  TF_RETURN_IF_ERROR(rpc::require_loopback(options.listen, "--http"));
  auto parts = std::make_unique<Parts>();
  TF_ASSIGN_OR_RETURN(std::vector<std::string> names, names_of(options));
  parts->gateway = std::make_unique<Gateway>(GatewayOptions{.tuner = options.tuner,
                                                            .tracker = options.tracker,
                                                            .host_names = std::move(names),
                                                            .most_model_bytes = options.most_model_bytes});
  TF_ASSIGN_OR_RETURN(parts->listener, Listener::start({.listen = options.listen}, *parts->gateway));
  return std::unique_ptr<WebServer>(new WebServer(std::move(parts)));
}

WebServer::WebServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

WebServer::~WebServer() = default;

const rpc::Endpoint& WebServer::endpoint() const {
  return parts_->listener->endpoint();
}

std::vector<rpc::MetricFamily> WebServer::metrics() const {
  return {rpc::gauge("tunefarm_http_connections", "open connections of HTTP",
                     static_cast<double>(parts_->listener->connections())),
          rpc::gauge("tunefarm_http_streams", "event streams under way",
                     static_cast<double>(parts_->gateway->streams()))};
}

}  // namespace tf::web
