#include "tuner/service/waiting_limits.h"

#include "absl/strings/str_cat.h"

namespace tf::service {

absl::Status check_room(const WaitingLimits& limits, const std::string& submitter, size_t waiting_in_all,
                        size_t waiting_of_submitter) {
  if (waiting_of_submitter >= limits.of_each) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot take another job: ", waiting_of_submitter, " jobs of ",
                     submitter.empty() ? "submitters without a name" : submitter,
                     " wait here, and of each submitter at most ", limits.of_each,
                     " may; submit it when some have begun, cancel some (`tuner cancel JOB`), or have the "
                     "tuner's --max-waiting-each raised"));
  }
  if (waiting_in_all >= limits.in_all) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot take another job: ", waiting_in_all, " wait at this tuner, and at most ", limits.in_all,
        " may; submit it when some have begun, or have its --max-waiting raised"));
  }
  return absl::OkStatus();
}

}  // namespace tf::service
