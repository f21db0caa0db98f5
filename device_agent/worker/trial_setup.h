#pragma once
// Owns: what a trial asks for, as a sandbox job: seed, samples, limits, whether its buffers fit into them,
// and how far from its operands the caches of this machine leave a timed run. Does not know: artifacts'
// messages, processes.

#include <cstdint>
#include <optional>

#include "device_agent/worker/job_wire.h"
#include "device_agent/worker/sandbox/job.h"
#include "device_agent/worker/zygote_client.h"

namespace tunefarm::farm::v1 {
class Trial;
}

namespace tf::worker {

struct Caches {
  uint64_t l2_bytes = 0;    // of one core
  uint64_t last_bytes = 0;  // the last before memory
};

// Makes the job of a loaded artifact that of the trial, which check_trial() let pass (job_wire.h).
void set_up_trial(const tunefarm::farm::v1::Trial& trial, uint64_t workspace_per_thread_bytes,
                  const Caches& caches, sandbox::Job* job);

// Leaves the job at most so much memory that with all else that its trial chooses, threads and reuse
// distance, it takes `most_bytes`.
void limit_memory(uint64_t most_bytes, sandbox::Job* job);

// How a job ends whose memory does not hold what is certainly needed: its buffers once and both answers of
// each output, then these answers twice, when they are compared. Its child would find that out only after the
// system has given the result memory, whose size is the artifact's word. Nothing: it may fit.
std::optional<ChildRun> does_not_fit(const LoadedArtifact& loaded);

}  // namespace tf::worker
