#pragma once
// Owns: what a child may do: resource limits, pinning, system calls, and a note about memory when it dies of
// a signal. Does not know: kernels.

#include <sys/types.h>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

// Own process group, death with the zygote, no new privileges, limits on address space, CPU time, files and
// core; pinned to the CPUs on which it is made ready. The address-space limit, to which `shared_bytes` that
// the zygote has mapped are added, is noted in `result`. Called once, right after the fork, single-threaded.
void confine_resources(const Job& job, uint64_t shared_bytes, Result* result);

// Pins the process (0: the calling one) and the threads that it makes later to these CPUs, if there are any.
void pin(pid_t process, const CpuSet& cpus);

// Notes the size of the address space in `result` when a fatal signal comes, then dies of that signal. The
// parent tells running out of memory from an ordinary crash by it.
bool note_fatal_signals(Result* result);

enum class SystemCalls {
  kLoading,  // besides: opening files to read, which the dynamic loader needs; a candidate's constructors run
             // here
  kComputing,  // memory, clocks, futexes, writing to open descriptors, ending
};

// From here on, in all threads, other system calls fail with EPERM: no new process or thread, file, socket,
// or signal to others. Filters add up: a later call can only take away. False if the system has no seccomp
// (then the limits and the process group are the sandbox).
bool confine_system_calls(SystemCalls allowed);

// Bytes of address space in use; 0 if /proc is not there.
uint64_t address_space_bytes();

}  // namespace tf::worker::sandbox
