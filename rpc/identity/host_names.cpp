#include "rpc/identity/host_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tf::rpc {
namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kLongestLabel = 63;

std::string text_of(int family, const void* address) {
  char text[INET6_ADDRSTRLEN] = "";
  return inet_ntop(family, address, text, sizeof text) ? text : "";
}

std::string text_of(const in6_addr& address) {
  return IN6_IS_ADDR_V4MAPPED(&address) ? text_of(AF_INET, &address.s6_addr[12])
                                        : text_of(AF_INET6, &address);
}

std::optional<std::string> address_of(const std::string& text) {
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return text_of(AF_INET, &v4);
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) return text_of(v6);
  return std::nullopt;
}

bool is_label(std::string_view label) {
  const auto allowed = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, allowed);
}

bool is_many_machines(const in_addr& address) {
  const uint32_t bits = ntohl(address.s_addr);
  return bits >> 24 == 127 || bits >> 24 == 0 || bits >> 16 == 0xa9fe || bits >> 28 >= 0xe;
}

bool is_many_machines(const in6_addr& address) {
  return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address) ||
         IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MULTICAST(&address);
}

}  // namespace

absl::StatusOr<std::string> canonical_host(std::string_view text) {
  std::string name = absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
  if (const std::optional<std::string> address = address_of(name)) return *address;
  const std::vector<std::string> labels = absl::StrSplit(name, '.');
  // A last label that begins with a digit may be read as a part of an address.
  const bool is_name = name.size() <= kLongestName && std::ranges::all_of(labels, is_label) &&
                       !absl::ascii_isdigit(static_cast<unsigned char>(labels.back().front()));
  if (is_name) return name;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", std::string(text.substr(0, kLongestName)),
      "\" is not a host: give a DNS name without a wildcard (board7.lab.example.org) or an IP address"));
}

bool is_many_machines(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return is_many_machines(v4);
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return is_many_machines(v6);
  return host == "localhost" || absl::EndsWith(host, ".localhost");
}

std::vector<std::string> machine_hosts() {
  std::vector<std::string> hosts;
  const auto add = [&](const absl::StatusOr<std::string>& host) {
    if (host.ok() && !is_many_machines(*host) && std::ranges::find(hosts, *host) == hosts.end())
      hosts.push_back(*host);
  };
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  add(canonical_host(name));
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return hosts;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> freed(all, freeifaddrs);
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr) continue;
    if (each->ifa_addr->sa_family == AF_INET)
      add(text_of(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr));
    if (each->ifa_addr->sa_family == AF_INET6)
      add(text_of(reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr));
  }
  return hosts;
}

}  // namespace tf::rpc
