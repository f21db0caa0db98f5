#pragma once
// Owns: the address of a caller, as people write it. Does not know: connections.

#include <string>
#include <string_view>

namespace tf::rpc {

// "10.0.0.5:41234" for gRPC's "ipv4:10.0.0.5:41234", "[fe80::1]:41234" for "ipv6:%5Bfe80::1%5D:41234". An
// IPv4 address that came over an IPv6 socket is written as IPv4. Anything else is returned as it is.
std::string peer_address(std::string_view grpc_peer);
// Its part before the port: "10.0.0.5", "fe80::1".
std::string host_of_address(std::string_view address);

}  // namespace tf::rpc
