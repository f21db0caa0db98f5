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
  // its object ("": the call has none; "a.b": field b of message a; "a/b": both, as members are named, or the
  // one that is given; of a stream, of its first message), and is refused while that cannot be written.
  std::optional<std::string_view> audited;
  // A field of the reply that names what the call has made; it stands before the request's.
  std::string_view audited_reply = "";
  // What members do by themselves, all day: audited if it succeeds (it fails again and again without
  // anybody's mischief), beside what people change, and never refused for the log.
  bool routine = false;
  // Its caller may be the one that it revokes, and hears that all the same: a call under way is not cut off.
  bool revokes = false;
};

std::span<const AccessRule> access_table();

// Null: no row.
const AccessRule* find_rule(std::string_view method);

}  // namespace tf::rpc
