#include "tuner/service/jobs/waiting_limits.h"

#include "absl/strings/str_cat.h"

namespace tf::service {

absl::Status check_room(const WaitingLimits& limits, const std::string& submitter, size_t waiting_in_all,
                        size_t waiting_of_submitter) {
  if (waiting_of_submitter >= limits.of_each) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot take another job: ", waiting_of_submitter, " jobs of ",
                     submitter.empty() ? "unnamed submitters" : submitter,
                     " are waiting, and each submitter may have at most ", limits.of_each,
                     "; submit it when some have started, cancel some (`tuner cancel JOB`), or raise the "
                     "tuner's --max-waiting-each"));
  }
  if (waiting_in_all >= limits.in_all) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot take another job: ", waiting_in_all, " are waiting at this tuner, and the limit is ",
        limits.in_all, "; submit it when some have started, or raise its --max-waiting"));
  }
  return absl::OkStatus();
}

}  // namespace tf::service
