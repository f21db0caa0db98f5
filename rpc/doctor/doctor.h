#pragma once
// Owns: what every `doctor` command examines of a program's place in the farm: its certificate, the tracker
// with its protocol and its clock, the port where it would listen. Changes nothing. Does not know: what else
// the program needs, how checks are printed (base/cli/doctor.h).

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/cli/doctor.h"
#include "rpc/connection/endpoint.h"
#include "rpc/identity/credentials.h"
#include "rpc/identity/identity.h"

namespace tf::rpc {

// What a program's certificate should be.
struct WantedMember {
  Role role = Role::kViewer;
  std::string why;                     // as in "an agent offers devices"
  Health otherwise = Health::kFailed;  // of a certificate with another role
};

// Whose it is and until when. It is weak once nothing has renewed it though two thirds of its life are over.
Check examine_certificate(const absl::StatusOr<std::shared_ptr<Credentials>>& credentials,
                          const WantedMember& wanted, absl::Time now);

// "tracker" says whether one answers there; then "protocol" and "clock" compare its with ours. `us` names who
// asks, as in "this agent". Takes some seconds where nobody answers.
std::vector<Check> examine_tracker(const absl::StatusOr<Endpoint>& tracker,
                                   const std::shared_ptr<Credentials>& credentials, std::string_view us);

// How far the tracker's clock is ahead of ours: weak beyond two seconds.
Check examine_clock(absl::Duration ahead);

// Whether the port is free. One that is in use is weak: it may be so by this very program, which runs.
// `option` as in "--listen"; in plain text it must be on loopback.
Check examine_listen(const Endpoint& listen, std::string_view option, bool secured);

}  // namespace tf::rpc
