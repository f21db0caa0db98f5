#include "tuner/service/jobs/job_access.h"

#include "absl/strings/str_cat.h"

namespace tf::service {

namespace {

// Whether the caller may change everybody's jobs. Without a certificate the connection is a loopback one.
bool is_trusted(const std::optional<rpc::Identity>& caller) {
  return !caller || (caller->role != rpc::Role::kUser && caller->role != rpc::Role::kTuner);
}

}  // namespace

absl::Status check_may_change(const std::optional<rpc::Identity>& caller, const database::Job& job,
                              const char* verb) {
  if (is_trusted(caller)) return absl::OkStatus();
  if (job.submitter.empty() || job.submitter == caller->text()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(caller->text(), " may not ", verb, " job ", job.id,
                                                  ": it is ", job.submitter,
                                                  "'s; ask that user, a device-owner or an admin"));
}

absl::Status check_may_ask(const std::optional<rpc::Identity>& caller, int priority) {
  if (priority <= 0 || is_trusted(caller)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(caller->text(), " may not use the priority ", priority,
                   ", which precedes other users' jobs: use 0 or less, or ask an admin to submit the job"));
}

std::string person_of(const std::string& submitter) {
  const size_t space = submitter.rfind(' ');
  return space == std::string::npos ? submitter : submitter.substr(space + 1);
}

}  // namespace tf::service
