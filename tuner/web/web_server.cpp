#include "tuner/web/web_server.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/identity/credentials.h"
#include "rpc/identity/host_names.h"
#include "tuner/web/gateway/gateway.h"
#include "tuner/web/http/listener.h"
#include "tuner/web/http/tls_files.h"

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

// The listener goes first: it calls the others.
struct WebServer::Parts {
  std::unique_ptr<TlsFiles> tls;
  std::unique_ptr<Gateway> gateway;
  std::unique_ptr<Listener> listener;
};

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::start(const WebOptions& options) {
  TF_RETURN_IF_ERROR(rpc::require_protection(options.listen, "--http", options.credentials));
  auto parts = std::make_unique<Parts>();
  TF_ASSIGN_OR_RETURN(std::vector<std::string> names, names_of(options));
  // The farm's own names: those of the certificate, as it is renewed.
  const auto all_names = [names = std::move(names), credentials = options.credentials] {
    std::vector<std::string> all = names;
    if (credentials) std::ranges::copy(credentials->certificate().hosts(), std::back_inserter(all));
    return all;
  };
  parts->gateway = std::make_unique<Gateway>(GatewayOptions{.tuner = options.tuner,
                                                            .tracker = options.tracker,
                                                            .guard = options.guard,
                                                            .tokens = options.tokens,
                                                            .host_names = all_names,
                                                            .most_model_bytes = options.most_model_bytes});
  ListenerOptions listener{.listen = options.listen};
  if (options.credentials) {
    TF_ASSIGN_OR_RETURN(parts->tls, TlsFiles::load(options.credentials->folder()));
    listener.tls = [&tls = *parts->tls] { return tls.context(); };
  }
  TF_ASSIGN_OR_RETURN(parts->listener, Listener::start(listener, *parts->gateway));
  return std::unique_ptr<WebServer>(new WebServer(std::move(parts)));
}

WebServer::WebServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

WebServer::~WebServer() = default;

const rpc::Endpoint& WebServer::endpoint() const {
  return parts_->listener->endpoint();
}

std::string WebServer::url() const {
  return absl::StrCat(parts_->tls ? "https://" : "http://", endpoint().text(), "/");
}

std::vector<rpc::MetricFamily> WebServer::metrics() const {
  std::vector<rpc::MetricFamily> families = parts_->listener->metrics();
  families.push_back(rpc::gauge("tunefarm_http_streams", "event streams under way",
                                static_cast<double>(parts_->gateway->streams())));
  return families;
}

}  // namespace tf::web
