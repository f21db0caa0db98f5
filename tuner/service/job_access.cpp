#include "tuner/service/job_access.h"

#include "absl/strings/str_cat.h"

namespace tf::service {

absl::Status check_may_change(const std::optional<rpc::Identity>& caller, const database::Job& job,
                              const char* verb) {
  if (!caller || caller->role != rpc::Role::kTuner) return absl::OkStatus();
  if (job.submitter.empty() || job.submitter == caller->text()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(caller->text(), " may not ", verb, " job ", job.id,
                                                  ": it is ", job.submitter,
                                                  "'s; ask them, a device-owner or an admin"));
}

absl::Status check_may_ask(const std::optional<rpc::Identity>& caller, int priority) {
  if (priority <= 0 || !caller || caller->role != rpc::Role::kTuner) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(caller->text(), " may not ask for the priority ", priority,
                   ", which goes before everybody's jobs: ask for 0 or less, or let an admin submit it"));
}

}  // namespace tf::service
