#include "tests/bench/farm/load_members.h"

#include "base/status.h"
#include "tests/bench/farm/simulated_agent.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"

namespace tf::farm_load {

absl::StatusOr<LoadMembers> make_members(const std::string& folder) {
  const std::string ca = folder + "/ca", agents = folder + "/agents", tuners = folder + "/tuners";
  TF_RETURN_IF_ERROR(tracker::Authority::make(ca, absl::Now()));
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<tracker::Members> members, tracker::Members::open(ca));
  TF_RETURN_IF_ERROR(tracker::make_member(*members, agents, {rpc::Role::kAgent, kAgentName}));
  TF_RETURN_IF_ERROR(tracker::make_member(*members, tuners, {rpc::Role::kTuner, "load"}));
  LoadMembers made;
  TF_ASSIGN_OR_RETURN(made.agents, rpc::Credentials::load(agents));
  TF_ASSIGN_OR_RETURN(made.tuners, rpc::Credentials::load(tuners));
  return made;
}

}  // namespace tf::farm_load
