#pragma once
// Owns: converting messages (Trial, Artifact) to a sandbox job, with all checks that keep invalid values out
// of the child. Does not know: processes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "device_agent/worker/memory_file.h"
#include "device_agent/worker/sandbox/job.h"

namespace tunefarm::farm::v1 {
class Trial;
}
namespace tunefarm::kernel::v1 {
class Manifest;
}

namespace tf::worker {

// An artifact that is ready to run: its job (kind, seed, times and limits are not set yet) and its code in
// sealed files.
struct LoadedArtifact {
  sandbox::Job job = {};
  std::vector<OwnedFd> blobs;
  std::vector<std::string> port_names;  // for messages
  uint64_t workspace_per_thread_bytes = 0;
  uint64_t result_bytes = 0;  // Result and both copies of all outputs
  double tolerance = 0;
  double flops = 0;
  bool reduced_numerics = false;  // its FLOPs may have another rate than fp32 FMAs
};

// Parses and checks a serialized kernel.v1.Artifact, whose SHA-256 must be `digest`. INVALID_ARGUMENT, or
// FAILED_PRECONDITION if it is for another kernel ABI.
absl::StatusOr<LoadedArtifact> load_artifact(std::string_view serialized, std::string_view digest);

// INVALID_ARGUMENT if a required field is missing or out of range. A trial may request a run time of at most
// `longest_run_ns`.
absl::Status check_trial(const tunefarm::farm::v1::Trial& trial, int64_t longest_run_ns);

// INVALID_ARGUMENT unless the reference has the candidate's inputs and constants, and for each of its outputs
// an answer and a magnitude of the same extents.
absl::Status check_same_computation(const sandbox::Job& candidate, const sandbox::Job& reference);

}  // namespace tf::worker
