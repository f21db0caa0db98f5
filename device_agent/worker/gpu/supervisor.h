#pragma once
// Owns: the runners of one slot: one that runs jobs, and a spare that has the device open and takes over when
// a job has killed the first one. Uses the zygote's protocol with the worker (sandbox/zygote.h). Does not
// know: what jobs do; it opens no driver.

namespace tf::worker::gpu_worker {

// As sandbox::serve_zygote, but with runners, which are new processes of `program`. It also reports when a
// job is ready; the job then waits for its turn. Requests to pause the runners arrive on `pauses`
// (sandbox/job.h). Returns the exit code.
int supervise(int socket, int pauses, const char* program);

}  // namespace tf::worker::gpu_worker
