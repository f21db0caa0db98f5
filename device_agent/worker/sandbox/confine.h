#pragma once
// Owns: what a child may use: resource limits, files, pinning, and a note about memory when it dies of a
// signal. Does not know: kernels, which system calls it makes (system_calls.h).

#include <sys/types.h>

#include "device_agent/worker/sandbox/capability.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Own process group, death with the zygote, limits on address space, files and core, and no files
// (file_access.h) unless that is left out; pinned to the CPUs on which it is made ready. The address-space
// limit, to which `shared_bytes` that the zygote has mapped are added, is noted in `result`. Called once,
// right after the fork, single-threaded. 0, or the errno with which it could not be confined.
int confine_resources(const Job& job, CapabilitySet without, uint64_t shared_bytes, Result* result);

// From here on so much CPU time as the job's threads can use within its time limit. What was used before, to
// make buffers, does not count.
void limit_cpu_time(const Job& job);

// No process and no thread from here on, whoever the user is and whatever else it runs.
void forbid_processes();

// Pins the process (0: the calling one) and the threads that it makes later to these CPUs, if there are any.
void pin(pid_t process, const CpuSet& cpus);

// Notes the size of the address space in `result` when a fatal signal comes, then dies of that signal. The
// parent tells running out of memory from an ordinary crash by it.
bool note_fatal_signals(Result* result);

// Bytes of address space in use; 0 if /proc is not there.
uint64_t address_space_bytes();

}  // namespace tf::worker::sandbox
