#pragma once
// Owns: HOST:PORT as a value, and the rule that plain text stays on loopback.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::rpc {

struct Endpoint {
  std::string host;  // without brackets
  uint16_t port = 0;
  // HOST:PORT, [HOST]:PORT for IPv6.
  std::string text() const;
  // 127.0.0.0/8, ::1 and localhost.
  bool is_loopback() const;
};

// INVALID_ARGUMENT unless HOST:PORT or [IPV6]:PORT with a port of 0 to 65535.
absl::StatusOr<Endpoint> parse_endpoint(std::string_view text);

// INVALID_ARGUMENT unless the endpoint is loopback: plain text is allowed nowhere else. `option` names the
// flag that gave it, as in "--listen".
absl::Status require_loopback(const Endpoint& endpoint, std::string_view option);

}  // namespace tf::rpc
