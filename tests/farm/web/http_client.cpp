#include "tests/farm/web/http_client.h"

#include <openssl/ssl.h>
#include <sys/time.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "rpc/identity/certificate.h"

namespace tf::farm_test {

namespace asio = boost::asio;
namespace http = boost::beast::http;

struct HttpClient::Connection {
  asio::io_context io;
  asio::ssl::context context{asio::ssl::context::tls_client};
  asio::ssl::stream<asio::ip::tcp::socket> stream{io, context};
  bool encrypted = false, open = false;
  boost::beast::flat_buffer received;
  boost::system::error_code error;

  template <typename Use>
  auto with(const Use& use) {
    return encrypted ? use(stream) : use(stream.next_layer());
  }
};

HttpClient::HttpClient(const rpc::Endpoint& endpoint, const std::string& ca)
    : connection_(std::make_unique<Connection>()), host_(endpoint.text()) {
  Connection& to = *connection_;
  asio::ip::tcp::socket& socket = to.stream.next_layer();
  socket.connect({asio::ip::make_address(endpoint.host), endpoint.port}, to.error);
  if (to.error) return;
  // Longer than any test is to wait.
  const timeval patience{.tv_sec = 90, .tv_usec = 0};
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (!ca.empty()) {
    to.encrypted = true;
    SSL_set_verify(to.stream.native_handle(), SSL_VERIFY_PEER, nullptr);
    to.context.add_certificate_authority(asio::buffer(ca));
    to.stream.handshake(asio::ssl::stream_base::client, to.error);
  }
  to.open = !to.error;
}

HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

bool HttpClient::is_open() const {
  return connection_->open;
}

std::string HttpClient::server_serial() const {
  X509* certificate = SSL_get1_peer_certificate(connection_->stream.native_handle());
  return certificate ? rpc::Certificate::adopt(certificate).serial() : "";
}

HttpReply HttpClient::get(const std::string& target, const std::map<std::string, std::string>& fields) {
  return request("GET", target, "", fields);
}

HttpReply HttpClient::post(const std::string& target, const std::string& body,
                           const std::map<std::string, std::string>& fields) {
  std::map<std::string, std::string> all = {{"Content-Type", "application/json"},
                                            {"Content-Length", absl::StrCat(body.size())}};
  for (const auto& [name, value] : fields) all[name] = value;
  return request("POST", target, body, std::move(all));
}

HttpReply HttpClient::request(const std::string& method, const std::string& target, const std::string& body,
                              std::map<std::string, std::string> fields) {
  fields.try_emplace("Host", host_);
  std::string text = absl::StrCat(method, " ", target, " HTTP/1.1\r\n");
  for (const auto& [name, value] : fields) absl::StrAppend(&text, name, ": ", value, "\r\n");
  send(absl::StrCat(text, "\r\n", body));
  return receive();
}

bool HttpClient::send(std::string_view bytes) {
  Connection& to = *connection_;
  to.with(
      [&](auto& stream) { return asio::write(stream, asio::buffer(bytes.data(), bytes.size()), to.error); });
  return !to.error;
}

HttpReply HttpClient::receive() {
  Connection& from = *connection_;
  http::response_parser<http::string_body> parser;
  parser.body_limit(64 << 20);
  from.with([&](auto& stream) { return http::read(stream, from.received, parser, from.error); });
  HttpReply reply;
  if (!parser.is_header_done()) return reply;
  const auto& message = parser.get();
  reply.status = message.result_int();
  for (const auto& field : message)
    reply.fields[absl::AsciiStrToLower(std::string(field.name_string()))] = std::string(field.value());
  reply.body = message.body();
  return reply;
}

std::string HttpClient::receive_some() {
  Connection& from = *connection_;
  char bytes[8192];
  const size_t count =
      from.with([&](auto& stream) { return stream.read_some(asio::buffer(bytes), from.error); });
  return std::string(bytes, from.error ? 0 : count);
}

}  // namespace tf::farm_test
