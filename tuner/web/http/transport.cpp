#include "tuner/web/http/transport.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <utility>

namespace tf::web {
namespace {

namespace beast = boost::beast;

constexpr auto kResult = asio::as_tuple(asio::use_awaitable);
constexpr size_t kWrittenAtOnce = 64 << 10;
// What a peer that is told off may still have been sending.
constexpr size_t kMostDrainedBytes = 1 << 20;
constexpr absl::Duration kLongestDrain = absl::Seconds(2);

std::chrono::milliseconds chrono_of(absl::Duration duration) {
  return std::chrono::milliseconds(absl::ToInt64Milliseconds(duration));
}

// `Stream` reads and writes; the socket lies below it.
template <typename Stream>
class StreamTransport : public Transport {
 public:
  asio::any_io_executor executor() override { return socket().get_executor(); }

  asio::awaitable<size_t> read(char* into, size_t most, absl::Duration at_most) override {
    tcp().expires_after(chrono_of(at_most));
    const auto [error, bytes] = co_await stream_.async_read_some(asio::buffer(into, most), kResult);
    co_return error ? 0 : bytes;
  }

  asio::awaitable<bool> write(std::string_view bytes, absl::Duration stall) override {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kWrittenAtOnce);
      tcp().expires_after(chrono_of(stall));
      const auto [error, written] =
          co_await asio::async_write(stream_, asio::buffer(part.data(), part.size()), kResult);
      if (error) co_return false;
      bytes.remove_prefix(part.size());
    }
    co_return true;
  }

  asio::awaitable<void> until_heard() override {
    co_await socket().async_wait(asio::ip::tcp::socket::wait_read, kResult);
  }

  void abort() override { tcp().close(); }

 protected:
  template <typename... Arguments>
  explicit StreamTransport(Arguments&&... arguments) : stream_(std::forward<Arguments>(arguments)...) {}

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }
  asio::ip::tcp::socket& socket() { return tcp().socket(); }

  // To close with unread bytes would have the kernel throw away what the peer has not read yet.
  asio::awaitable<void> drain() {
    boost::system::error_code ignored;
    socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    char rest[4096];
    tcp().expires_after(chrono_of(kLongestDrain));
    for (size_t drained = 0; drained < kMostDrainedBytes;) {
      const auto [error, bytes] = co_await tcp().async_read_some(asio::buffer(rest), kResult);
      if (error) break;
      drained += bytes;
    }
    tcp().close();
  }

  Stream stream_;
};

class PlainTransport final : public StreamTransport<beast::tcp_stream> {
 public:
  explicit PlainTransport(asio::ip::tcp::socket socket) : StreamTransport(std::move(socket)) {}
  asio::awaitable<bool> open(absl::Duration) override { co_return true; }
  asio::awaitable<void> close() override { co_await drain(); }
};

class TlsTransport final : public StreamTransport<asio::ssl::stream<beast::tcp_stream>> {
 public:
  TlsTransport(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : StreamTransport(beast::tcp_stream(std::move(socket)), *context), context_(std::move(context)) {}

  asio::awaitable<bool> open(absl::Duration at_most) override {
    tcp().expires_after(chrono_of(at_most));
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kResult);
    co_return !error;
  }

  asio::awaitable<void> close() override {
    // Only says that no more comes: many peers never answer that.
    SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
    tcp().expires_after(chrono_of(kLongestDrain));
    co_await stream_.async_shutdown(kResult);
    co_await drain();
  }

 private:
  const std::shared_ptr<asio::ssl::context> context_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(asio::ip::tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> tls_transport(asio::ip::tcp::socket socket,
                                         std::shared_ptr<asio::ssl::context> context) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context));
}

}  // namespace tf::web
