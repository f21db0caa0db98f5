#pragma once
// Owns: who a member of the farm is: a role and a name, as a certificate carries them. Does not know:
// certificates, what a role may do (access_table.h).

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::rpc {

enum class Role {
  kViewer,       // sees devices, jobs and records
  kUser,         // a person: submits jobs to tuners, changes their own jobs, sees what a viewer sees
  kTuner,        // a tuner service: leases devices, uploads and signs code; may also do what a user may
  kDeviceOwner,  // drains devices, ends leases, changes everybody's jobs
  kAgent,        // offers one machine
  kBuild,        // makes artifacts, and signs them
  kAdmin,        // lets in and revokes
  kTracker,      // the farm's server; may call nothing
};

// As commands and certificates write it, as in "device-owner".
std::string_view role_name(Role role);
// INVALID_ARGUMENT names the roles there are.
absl::StatusOr<Role> parse_role(std::string_view text);
// All that a join token can give: every role but the tracker's.
std::vector<std::string> joinable_roles();

// Whether others connect to members with this role.
bool may_serve(Role role);

// The program whose `join` command makes members with this role: "device_agent" for agents, "tuner" for all
// others, whoever they are.
std::string_view joining_program(Role role);
// The joinable roles of which it is that program, which must be one of the two.
std::vector<std::string> roles_joining_by(std::string_view program);
// What to do for a certificate with this role, to stand after a colon.
std::string how_to_join(Role role);

struct Identity {
  Role role = Role::kViewer;
  std::string name;
  bool operator==(const Identity&) const = default;
  // "agent box-1"
  std::string text() const;
  // "tunefarm://agent/box-1", the subject alternative name of a certificate.
  std::string uri() const;
};

// INVALID_ARGUMENT unless ROLE/NAME after tunefarm://.
absl::StatusOr<Identity> parse_identity_uri(std::string_view uri);

// INVALID_ARGUMENT unless the name has 1 to 128 letters, digits, '.', '_' and '-', the first a letter or a
// digit.
absl::Status check_identity_name(std::string_view name);

// An agent serves the device that its certificate names, and those below that: NAME or NAME/…, which no other
// name can be. PERMISSION_DENIED otherwise.
absl::Status check_may_serve(const Identity& agent, std::string_view device_id);

// Whom a client takes for the server, wherever it answers: a member with this role, or the agent of one
// device.
class ExpectedServer {
 public:
  ExpectedServer(Role role) : role_(role) {}  // NOLINT(google-explicit-constructor): most often that is all
  static ExpectedServer agent_of(std::string device_id);
  // UNAUTHENTICATED says who was expected.
  absl::Status check(const Identity& server) const;

 private:
  Role role_;
  std::string device_id_;  // empty: any
};

}  // namespace tf::rpc
