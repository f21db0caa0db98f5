#include "tests/bench/farm/load_members.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "tests/bench/farm/simulated_agent.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"

namespace tf::farm_load {

absl::StatusOr<LoadMembers> make_members(const std::string& folder, int boards) {
  const std::string ca = folder + "/ca", tuners = folder + "/tuners";
  TF_RETURN_IF_ERROR(tracker::Authority::make(ca, absl::Now()));
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<tracker::Members> members, tracker::Members::open(ca));
  TF_RETURN_IF_ERROR(tracker::make_member(*members, tuners, {rpc::Role::kTuner, "load"}));
  LoadMembers made;
  for (int i = 0; i < boards; ++i) {
    const std::string board = absl::StrCat(folder, "/", board_name(i));
    TF_RETURN_IF_ERROR(tracker::make_member(*members, board, {rpc::Role::kAgent, board_name(i)}));
    TF_ASSIGN_OR_RETURN(made.boards.emplace_back(), rpc::Credentials::load(board));
  }
  TF_ASSIGN_OR_RETURN(made.tuners, rpc::Credentials::load(tuners));
  return made;
}

}  // namespace tf::farm_load
