#pragma once
// Owns: how a job's kernels and its network became faster, as the message that says so. Does not know: how
// questions come.

#include "absl/status/statusor.h"
#include "proto/tune/v1/report.pb.h"
#include "tuner/report/job_scope.h"
#include "tuner/report/view.h"

namespace tf::report {

// In one pass over the measurements of the job's kernels. `most_points`: of each curve and of the steps of
// time, at least 4.
absl::StatusOr<tunefarm::tune::v1::JobCurves> job_curves(View& view, const JobScope& scope,
                                                         size_t most_points);

}  // namespace tf::report
