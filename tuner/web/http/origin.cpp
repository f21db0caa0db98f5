#include "tuner/web/http/origin.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "rpc/connection/endpoint.h"
#include "rpc/identity/host_names.h"

namespace tf::web {
namespace {

// "tuner.lab:7192" → "tuner.lab", "[::1]" → "::1"
std::string name_in(std::string host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return end == std::string::npos ? host : host.substr(1, end - 1);
  }
  return host.substr(0, host.rfind(':'));
}

}  // namespace

absl::Status check_host(const RequestHead& head, const std::vector<std::string>& names) {
  const std::string host = absl::AsciiStrToLower(std::string(head.field("host")));
  const std::string name = name_in(host);
  if (name.empty()) return absl::PermissionDeniedError("the request has no field Host");
  if (name == "localhost" || name == head.local_address || std::ranges::find(names, name) != names.end())
    return absl::OkStatus();
  // As an address may be written in several ways.
  const absl::StatusOr<std::string> canonical = rpc::canonical_host(name);
  const bool is_here = canonical.ok() && *canonical == head.local_address;
  if (is_here) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "this server is not called '", printable(name),
      "': use the address that `tuner serve --http` names, or start it with --http-name ", printable(name)));
}

absl::Status check_same_origin(const RequestHead& head) {
  const std::string site(head.field("sec-fetch-site"));
  const std::string origin = absl::AsciiStrToLower(std::string(head.field("origin")));
  const std::string own = absl::StrCat(head.encrypted ? "https://" : "http://",
                                       absl::AsciiStrToLower(std::string(head.field("host"))));
  const bool says_other = !site.empty() && site != "same-origin" && site != "none";
  if (!says_other && (origin.empty() || origin == own)) return absl::OkStatus();
  return absl::PermissionDeniedError("a page of another origin may not call this server");
}

}  // namespace tf::web
