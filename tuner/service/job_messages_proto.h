#pragma once
// Owns: the passage between jobs and tune.v1's messages, for both ends. Does not know: connections.

#include "absl/status/statusor.h"
#include "proto/tune/v1/tune.pb.h"
#include "tuner/service/job_queue.h"

namespace tf::service {

tunefarm::tune::v1::JobSpec to_proto(const JobSpec& spec);
tunefarm::tune::v1::JobUpdate to_proto(const JobView& view);

JobSpec from_proto(const tunefarm::tune::v1::JobSpec& spec);
// INVALID_ARGUMENT for a state that does not exist. The view's version stays 0.
absl::StatusOr<JobView> from_proto(const tunefarm::tune::v1::JobUpdate& update);

}  // namespace tf::service
