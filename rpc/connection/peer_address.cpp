#include "rpc/connection/peer_address.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace tf::rpc {

std::string peer_address(std::string_view grpc_peer) {
  const absl::string_view peer(grpc_peer.data(), grpc_peer.size());
  if (absl::StartsWith(peer, "ipv4:")) return std::string(absl::StripPrefix(peer, "ipv4:"));
  if (!absl::StartsWith(peer, "ipv6:")) return std::string(grpc_peer);
  const std::string address =
      absl::StrReplaceAll(absl::StripPrefix(peer, "ipv6:"), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  constexpr std::string_view kMapped = "[::ffff:";
  if (!address.starts_with(kMapped)) return address;
  const std::string host = host_of_address(address).substr(kMapped.size() - 1);
  const bool is_ipv4 = host.find('.') != std::string::npos;
  return is_ipv4 ? absl::StrCat(host, address.substr(address.rfind(':'))) : address;
}

std::string host_of_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::string(host);
}

}  // namespace tf::rpc
