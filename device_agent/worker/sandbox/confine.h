#pragma once
// Owns: what a child may use (resource limits, files, CPUs), and a record of its memory when a signal kills
// it. Does not know: kernels, system calls (system_calls.h).

#include <sys/types.h>

#include "device_agent/worker/sandbox/capability.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Confines the calling process: a separate process group; death with the zygote; limits on address space,
// files and core dumps; no access to files (file_access.h), unless that layer is left out. Pins it to the
// CPUs of the preparation. Records in `result` the address-space limit, which includes `shared_bytes` that
// the zygote has mapped. Call it once, right after the fork, with a single thread. Returns 0, or the errno of
// the failure.
int confine_resources(const Job& job, CapabilitySet without, uint64_t shared_bytes, Result* result);

// Limits CPU time from now on to what the job's threads can use within its time limit. Time that was used
// before, to create buffers, does not count.
void limit_cpu_time(const Job& job);

// Forbids new processes and threads from now on, for every user and independent of the user's other
// processes.
void forbid_processes();

// Pins the process (0: the calling one) and the threads that it makes later to these CPUs, if there are any.
void pin(pid_t process, const CpuSet& cpus);

// On a fatal signal, records the size of the address space in `result`, and then dies of that signal. The
// parent uses this to distinguish out of memory from an ordinary crash.
bool note_fatal_signals(Result* result);

// Bytes of address space in use; 0 if /proc is not available.
uint64_t address_space_bytes();

}  // namespace tf::worker::sandbox
