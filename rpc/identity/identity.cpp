#include "rpc/identity/identity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

constexpr std::string_view kScheme = "tunefarm://";

constexpr std::array<std::pair<Role, std::string_view>, 8> kRoles = {{{Role::kViewer, "viewer"},
                                                                      {Role::kUser, "user"},
                                                                      {Role::kTuner, "tuner"},
                                                                      {Role::kDeviceOwner, "device-owner"},
                                                                      {Role::kAgent, "agent"},
                                                                      {Role::kBuild, "build"},
                                                                      {Role::kAdmin, "admin"},
                                                                      {Role::kTracker, "tracker"}}};

}  // namespace

std::string_view role_name(Role role) {
  return std::ranges::find(kRoles, role, [](const auto& entry) { return entry.first; })->second;
}

absl::StatusOr<Role> parse_role(std::string_view text) {
  for (const auto& [role, name] : kRoles) {
    if (name == text) return role;
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text), "\" is not a role; the roles are ",
                                                 absl::StrJoin(joinable_roles(), ", ")));
}

std::vector<std::string> joinable_roles() {
  std::vector<std::string> names;
  for (const auto& [role, name] : kRoles) {
    if (role != Role::kTracker) names.emplace_back(name);
  }
  return names;
}

bool may_serve(Role role) {
  return role == Role::kTracker || role == Role::kTuner || role == Role::kAgent;
}

std::string_view joining_program(Role role) {
  return role == Role::kAgent ? "device_agent" : "tuner";
}

std::vector<std::string> roles_joining_by(std::string_view program) {
  std::vector<std::string> names;
  for (const auto& [role, name] : kRoles) {
    if (role != Role::kTracker && joining_program(role) == program) names.emplace_back(name);
  }
  // To whoever asks for members with these roles, none would mean any.
  TF_CHECK(!names.empty()) << std::string(program) << " has no join command";
  return names;
}

std::string how_to_join(Role role) {
  return absl::StrCat("ask an admin to run `tracker ca token --role ", std::string(role_name(role)),
                      "`, then `", std::string(joining_program(role)), " join` into another folder");
}

std::string Identity::text() const {
  return absl::StrCat(std::string(role_name(role)), " ", name);
}

std::string Identity::uri() const {
  return absl::StrCat(std::string(kScheme), std::string(role_name(role)), "/", name);
}

absl::StatusOr<Identity> parse_identity_uri(std::string_view uri) {
  const size_t slash = uri.starts_with(kScheme) ? uri.find('/', kScheme.size()) : std::string_view::npos;
  if (slash == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(uri), "\" is not a farm member (tunefarm://ROLE/NAME)"));
  }
  Identity identity{.name = std::string(uri.substr(slash + 1))};
  TF_ASSIGN_OR_RETURN(identity.role, parse_role(uri.substr(kScheme.size(), slash - kScheme.size())));
  TF_RETURN_IF_ERROR(check_identity_name(identity.name));
  return identity;
}

absl::Status check_identity_name(std::string_view name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= 128 && absl::ascii_isalnum(static_cast<unsigned char>(name.front())) &&
      std::ranges::all_of(name, allowed)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(name.substr(0, 128)),
                                                 "\" is not a valid name: use 1 to 128 letters, digits, '.', "
                                                 "'_' and '-', beginning with a letter or digit"));
}

absl::Status check_may_serve(const Identity& agent, std::string_view device_id) {
  const bool below = device_id.starts_with(agent.name) && device_id.size() > agent.name.size() &&
                     device_id[agent.name.size()] == '/';
  if (agent.role == Role::kAgent && (device_id == agent.name || below)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(agent.text(), " may not be the device ",
                                                  std::string(device_id), ": start it with --id ", agent.name,
                                                  ", or join again under that name"));
}

ExpectedServer ExpectedServer::agent_of(std::string device_id) {
  ExpectedServer expected(Role::kAgent);
  expected.device_id_ = std::move(device_id);
  return expected;
}

absl::Status ExpectedServer::check(const Identity& server) const {
  if (server.role != role_) {
    return absl::UnauthenticatedError(absl::StrCat("the server is the ", server.text(), ", not a ",
                                                   std::string(role_name(role_)), " as expected"));
  }
  if (device_id_.empty() || check_may_serve(server, device_id_).ok()) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("the server is the ", server.text(), ", not that of device ", device_id_, " as expected"));
}

}  // namespace tf::rpc
