#pragma once
// Owns: who may call what: one row a method, every service of every daemon. What has no row is refused. Does
// not know: connections, certificates.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rpc/identity/identity.h"

namespace tf::rpc {

struct AccessRule {
  std::string_view method;  // "/PACKAGE.SERVICE/METHOD"
  std::vector<Role> roles;
  bool anyone = false;  // also callers without a certificate
  // Set for what changes the farm's state: the call goes to the audit log, with this field of the request as
  // its object ("": the call has none).
  std::optional<std::string_view> audited;
  // Only if it succeeds: what fails without anybody's mischief, again and again.
  bool audited_if_ok = false;
};

std::span<const AccessRule> access_table();

// Null: no row.
const AccessRule* find_rule(std::string_view method);

}  // namespace tf::rpc
