#pragma once
// Owns: what is said of single kernels, in lists and by itself, as messages. Does not know: how questions
// come.

#include <string_view>

#include "absl/status/statusor.h"
#include "proto/tune/v1/report.pb.h"
#include "tuner/report/job_scope.h"
#include "tuner/report/view.h"

namespace tf::report {

// The kernel with that id among the measured ones, or else among the job's, which may be null. NOT_FOUND.
absl::StatusOr<Subject> find_subject(const View& view, std::string_view id, const JobScope* scope);

// INVALID_ARGUMENT: a page that there is not.
absl::StatusOr<tunefarm::tune::v1::ListKernelsReply> kernel_list(
    View& view, const tunefarm::tune::v1::ListKernelsRequest& request, const JobScope* scope);

absl::StatusOr<tunefarm::tune::v1::KernelReport> kernel_report(View& view, const Subject& kernel,
                                                               const JobScope* scope);

// All of the kernel, or those that the job measured, in order.
absl::StatusOr<tunefarm::tune::v1::Candidates> candidates(View& view, const Subject& kernel,
                                                          const JobScope* scope, size_t most_points);

}  // namespace tf::report
