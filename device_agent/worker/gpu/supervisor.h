#pragma once
// Owns: the runners of one slot: one that runs jobs, and a spare that has the device open already and takes over when a job has
// taken the first one down. It speaks to the worker as a zygote does (sandbox/zygote.h). Does not know: what jobs do; no
// driver is opened here.

namespace tf::worker::gpu_worker {

// As sandbox::serve_zygote, with runners that are `program` started anew; but it says when a job is ready, and the job then waits for its
// turn. On `pauses` it is told to have them stand still (sandbox/job.h). Returns the exit code.
int supervise(int socket, int pauses, const char* program);

}  // namespace tf::worker::gpu_worker
