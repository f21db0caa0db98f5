#include "tracker/operators/tracker_link.h"

#include <utility>

#include "base/status.h"
#include "rpc/identity/membership.h"

namespace tf::tracker {

absl::StatusOr<TrackerLink> link_to(const std::string& tracker, const std::string& tls) {
  TF_ASSIGN_OR_RETURN(const rpc::Endpoint endpoint, rpc::parse_endpoint(tracker));
  TF_ASSIGN_OR_RETURN(auto credentials, rpc::credentials_of_command(tls, tracker));
  return TrackerLink{endpoint, std::move(credentials)};
}

}  // namespace tf::tracker
