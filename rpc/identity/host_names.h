#pragma once
// Owns: the host names and addresses that certificates carry beside the member's name, for programs that check a
// server by its host. Does not know: certificates, who may have which name.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tf::rpc {

// An address as inet_ntop writes it (an IPv4 address in IPv6 as IPv4), or a DNS name in lower case. INVALID_ARGUMENT:
// neither of them; a wildcard and a name that ends in a dot or in a number are refused.
absl::StatusOr<std::string> canonical_host(std::string_view text);

// Whether many machines have this (canonical) host: loopback, link-local, multicast or no particular address, and the
// names below "localhost".
bool is_many_machines(const std::string& host);

// This machine's host name and the addresses of its interfaces, canonical, without those that many machines have.
std::vector<std::string> machine_hosts();

}  // namespace tf::rpc
