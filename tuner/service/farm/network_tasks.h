#pragma once
// Owns: from a network's file to the tasks of a tuning session, and from a job's specification to the
// session's options. Does not know: where tasks are measured.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/frontends/network_request.h"
#include "proto/tune/v1/report.pb.h"
#include "tuner/service/jobs/job_spec.h"
#include "tuner/session/session.h"

namespace tf::service {

// One task for each distinct kernel of the planned network that has elements, in order of first use, weighted
// by its occurrences: what `compiler tasks` lists and a build for the same target asks the database for. Of a network with
// open dimensions, the kernels at its anchors, of which the programs count alike, and of those for all sizes the size that the build
// asks for first; no other layouts.
// After these, with weight 0, the kernels between other layouts whose times may turn the build's choice of
// layouts (graph/layout_choice.h). Errors as frontends::import_file's; INVALID_ARGUMENT if nothing is left to tune.
absl::StatusOr<std::vector<session::Task>> network_tasks(const std::string& model_path,
                                                         const target::Target& target,
                                                         const frontends::NetworkRequest& request);

// What a job begins with.
struct NetworkPlan {
  std::vector<session::Task> tasks;         // network_tasks
  tunefarm::tune::v1::NetworkReport calls;  // network_calls
};
absl::StatusOr<NetworkPlan> plan_of_network(const std::string& model_path, const target::Target& target,
                                            int threads, const frontends::NetworkRequest& request);

// INVALID_ARGUMENT for a target or a strategy that does not exist.
absl::StatusOr<session::SessionOptions> session_options(const JobSpec& spec, int64_t job_id,
                                                        const std::string& device_class);

}  // namespace tf::service
