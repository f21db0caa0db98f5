#pragma once
// Owns: converting a trial's options to a sandbox job: seed, samples, limits, whether its buffers fit these,
// and the reuse distance for this machine's caches. Does not know: artifact messages, processes.

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
  uint64_t last_bytes = 0;  // the last-level cache
};

// Sets the trial's options in the job of a loaded artifact. The trial must have passed check_trial()
// (job_wire.h).
void set_up_trial(const tunefarm::farm::v1::Trial& trial, uint64_t workspace_per_thread_bytes,
                  const Caches& caches, sandbox::Job* job);

// Limits the job's memory, so that together with its threads and its reuse distance it takes at most
// `most_bytes`.
void limit_memory(uint64_t most_bytes, sandbox::Job* job);

// If the job's memory limit is too small for what it certainly needs, returns how it ends; otherwise empty.
// It needs its buffers once, both answers of each output, and these answers a second time for the comparison.
// The child could detect this only after the result memory is allocated, whose size the (untrusted) artifact
// determines.
std::optional<ChildRun> does_not_fit(const LoadedArtifact& loaded);

}  // namespace tf::worker
