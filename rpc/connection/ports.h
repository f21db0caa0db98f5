#pragma once
// Owns: whether a daemon's ports are free, asked before it makes a file: one that cannot start leaves nothing
// behind. Does not know: who serves there (server.h, metrics/page.h).

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rpc/connection/endpoint.h"

namespace tf::rpc {

// Of all where it listens and, unless that is empty, of what `--metrics` says. ALREADY_EXISTS: a port is in
// use; INVALID_ARGUMENT: no address of this machine, a page beyond loopback, or one port for two.
absl::Status check_ports(const std::vector<Endpoint>& listen, const std::string& metrics);

}  // namespace tf::rpc
