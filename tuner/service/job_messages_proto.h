#pragma once
// Owns: the passage between jobs and tune.v1's messages, for both ends. Does not know: connections.

#include "proto/tune/v1/tune.pb.h"
#include "tuner/service/job_queue.h"

namespace tf::service {

tunefarm::tune::v1::JobSpec to_proto(const JobSpec& spec);
tunefarm::tune::v1::JobUpdate to_proto(const JobView& view);

JobSpec from_proto(const tunefarm::tune::v1::JobSpec& spec);

}  // namespace tf::service
