#pragma once
// Owns: one trial inside its sandboxed child: make its inputs, wait for its turn, load the candidate, run it
// once with guards, then time it. Does not know: what the right answer is, or who asked.

#include "device_agent/worker/sandbox/capability.h"
#include "device_agent/worker/sandbox/flush_buffer.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Runs the job and ends the process; never returns. `fds` are those of a Request, in its order; a byte goes
// to `gate` when all is ready, and one comes from it when it is the job's turn; `without` are the sandbox's
// layers that are left out. Standard output and error already go to the print pipe.
[[noreturn]] void run_job(const Job& job, CapabilitySet without, const FlushBuffer& flush_buffer,
                          Result* result, const int* fds, int gate);

}  // namespace tf::worker::sandbox
