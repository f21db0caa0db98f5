#pragma once
// Owns: one trial inside its sandboxed child: load the candidate, make its inputs, run it once with guards,
// then time it. Does not know: what the right answer is, or who asked.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Runs the job and ends the process; never returns. `fds` are those of a Request, in its order. Standard
// output and error already go to the print pipe.
[[noreturn]] void run_job(const Job& job, Result* result, const int* fds);

}  // namespace tf::worker::sandbox
