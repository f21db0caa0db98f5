#include "tuner/web/http/listener.h"

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "rpc/connection/server.h"

namespace tf::web {
namespace {

using asio::ip::tcp;
constexpr auto kOutcome = asio::as_tuple(asio::use_awaitable);
// After an accept that failed, most often for want of descriptors.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

// An IPv4 address that came over an IPv6 socket is written as IPv4.
std::string text_of(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

}  // namespace

struct Listener::Parts {
  Parts(const ListenerOptions& wanted, Handler& serving)
      : options(wanted), handler(serving), all(wanted.connections) {}

  const ListenerOptions options;
  Handler& handler;
  Connections all;
  asio::io_context io;
  tcp::acceptor acceptor{asio::make_strand(io)};
  rpc::Endpoint endpoint;
  std::vector<std::thread> threads;

  absl::Status bind();
  asio::awaitable<void> accept();
  void take(tcp::socket socket);
  void count(int status);

  mutable std::mutex mutex;
  std::map<std::string, double> answers;  // by status
};

absl::Status Listener::Parts::bind() {
  TF_RETURN_IF_ERROR(rpc::check_bindable(options.listen, "--http"));
  const auto failed = [this](const boost::system::error_code& error) {
    return absl::UnavailableError(
        absl::StrCat("--http: cannot listen on ", options.listen.text(), ": ", error.message()));
  };
  boost::system::error_code error;
  const auto found =
      tcp::resolver(io).resolve(options.listen.host, std::to_string(options.listen.port),
                                tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error) return failed(error);
  const tcp::endpoint address = *found.begin();
  acceptor.open(address.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(address, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return failed(error);
  endpoint = {.host = options.listen.host, .port = acceptor.local_endpoint().port()};
  return absl::OkStatus();
}

asio::awaitable<void> Listener::Parts::accept() {
  asio::steady_timer pause(acceptor.get_executor());
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(asio::make_strand(io), kOutcome);
    if (!error && acceptor.is_open()) {
      take(std::move(socket));
    } else if (acceptor.is_open()) {
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kOutcome);
    }
  }
}

void Listener::Parts::take(tcp::socket socket) {
  boost::system::error_code error;
  const tcp::endpoint from = socket.remote_endpoint(error);
  const tcp::endpoint to = error ? tcp::endpoint() : socket.local_endpoint(error);
  if (error) return;  // it has gone already
  socket.set_option(tcp::no_delay(true), error);
  const std::shared_ptr<asio::ssl::context> tls = options.tls ? options.tls() : nullptr;
  if (options.tls && !tls) return;
  Ends ends{.address = text_of(from.address()),
            .local_address = text_of(to.address()),
            .encrypted = tls != nullptr};
  const std::string address = ends.address;
  auto transport = tls ? tls_transport(std::move(socket), tls) : plain_transport(std::move(socket));
  const asio::any_io_executor executor = transport->executor();
  const auto id = std::make_shared<Connections::Id>(0);
  const std::shared_ptr<Session> session =
      make_session(std::move(transport), std::move(ends), handler, options.session,
                   {.waits = [this, id](bool waits) { all.set_waiting(*id, waits); },
                    .answered = [this](int status) { count(status); }});
  const bool is_loopback = from.address().is_loopback() || rpc::Endpoint{.host = address}.is_loopback();
  const auto place = all.enter(address, is_loopback, [weak = std::weak_ptr(session)] {
    if (const auto alive = weak.lock()) alive->abort();
  });
  if (!place) return;
  *id = *place;
  all.set_waiting(*id, true);  // until it has sent a request
  asio::co_spawn(executor, session->run(), [this, session, id](const std::exception_ptr& failed) {
    all.leave(*id);
    if (failed) spdlog::error("a connection of HTTP ended by an exception");
  });
}

void Listener::Parts::count(int status) {
  const std::scoped_lock lock(mutex);
  ++answers[std::to_string(status)];
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::start(const ListenerOptions& options, Handler& handler) {
  auto parts = std::make_unique<Parts>(options, handler);
  TF_RETURN_IF_ERROR(parts->bind());
  asio::co_spawn(parts->acceptor.get_executor(), parts->accept(), asio::detached);
  for (int i = 0; i < options.threads; ++i) parts->threads.emplace_back([&io = parts->io] { io.run(); });
  return std::unique_ptr<Listener>(new Listener(std::move(parts)));
}

Listener::Listener(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Listener::~Listener() {
  asio::post(parts_->acceptor.get_executor(), [this] {
    parts_->acceptor.close();
    parts_->all.abort_all();
  });
  for (std::thread& thread : parts_->threads) thread.join();
}

const rpc::Endpoint& Listener::endpoint() const {
  return parts_->endpoint;
}

std::vector<rpc::MetricFamily> Listener::metrics() const {
  const std::scoped_lock lock(parts_->mutex);
  return {rpc::gauge("tunefarm_http_connections", "open connections of HTTP",
                     static_cast<double>(parts_->all.count())),
          rpc::by_label(rpc::counter("tunefarm_http_requests_total", "requests answered, by status", 0),
                        "status", parts_->answers)};
}

}  // namespace tf::web
