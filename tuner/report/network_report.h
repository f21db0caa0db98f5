#pragma once
// Owns: a job's network as it was kept when the job began, with the times of its kernels now. Does not know:
// graphs.

#include "absl/status/statusor.h"
#include "proto/tune/v1/report.pb.h"
#include "tuner/report/job_scope.h"
#include "tuner/report/view.h"

namespace tf::report {

// FAILED_PRECONDITION: no network was kept of the job.
absl::StatusOr<tunefarm::tune::v1::NetworkReport> network_report(View& view, const JobScope& scope);

}  // namespace tf::report
