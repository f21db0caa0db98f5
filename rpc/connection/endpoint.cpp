#include "rpc/connection/endpoint.h"

#include <arpa/inet.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"

namespace tf::rpc {

std::string Endpoint::text() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

bool Endpoint::is_loopback() const {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<Endpoint> parse_endpoint(std::string_view text) {
  const auto malformed = [&] {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("\"", std::string(text), "\" is not HOST:PORT"),
                       "write it as in 127.0.0.1:7190", Between::kSemicolon);
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return malformed();
  std::string host(text.substr(0, colon));
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return malformed();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return malformed();
  }
  int port = 0;
  if (!absl::SimpleAtoi(std::string(text.substr(colon + 1)), &port) || port < 0 || port > 65535)
    return malformed();
  return Endpoint{.host = std::move(host), .port = static_cast<uint16_t>(port)};
}

absl::Status require_loopback(const Endpoint& endpoint, std::string_view option) {
  if (endpoint.is_loopback()) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kInvalidArgument,
                     absl::StrCat(std::string(option), " ", endpoint.text(),
                                  ": connections without TLS are allowed on loopback only"),
                     "give --tls DIR (docs/how-to/secure-a-farm.md makes one), or use 127.0.0.1");
}

}  // namespace tf::rpc
