#pragma once
// Owns: one trial inside its sandboxed child: generate its inputs, wait for its turn, load the candidate, run
// it once with guards, then time it. Does not know: the expected answers, or who requested the trial.

#include "device_agent/worker/sandbox/capability.h"
#include "device_agent/worker/sandbox/flush_buffer.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Runs the job and exits the process; never returns. `fds` are the descriptors of a Request, in its order.
// When the job is ready, it writes a byte to `gate`; it reads a byte from `gate` when its turn comes.
// `without` are the layers of the sandbox that are left out. Standard output and error must already be
// redirected to the print pipe.
[[noreturn]] void run_job(const Job& job, CapabilitySet without, const FlushBuffer& flush_buffer,
                          Result* result, const int* fds, int gate);

}  // namespace tf::worker::sandbox
