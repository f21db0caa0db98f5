#pragma once
// Owns: what a trial asks for, as a sandbox job: seed, samples, limits, and how far from its operands the
// caches of this machine leave a timed run. Does not know: artifacts, processes.

#include <cstdint>

#include "device_agent/worker/sandbox/job.h"

namespace tunefarm::farm::v1 {
class Trial;
}

namespace tf::worker {

struct Caches {
  uint64_t l2_bytes = 0;    // of one core
  uint64_t last_bytes = 0;  // the last before memory
};

// Makes the job of a loaded artifact that of the trial, which check_trial() let pass (job_proto.h).
void set_up_trial(const tunefarm::farm::v1::Trial& trial, uint64_t workspace_per_thread_bytes,
                  const Caches& caches, sandbox::Job* job);

}  // namespace tf::worker
