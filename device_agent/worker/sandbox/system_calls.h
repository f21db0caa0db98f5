#pragma once
// Owns: the system calls that a child may make (seccomp), as an allowlist. Does not know: when it applies.

namespace tf::worker::sandbox {

enum class SystemCalls {
  kLoading,    // also: opening files for reading, executable memory, and all else that the dynamic loader
               // needs; a candidate's constructors run here
  kComputing,  // memory, clocks, futexes, writing to open descriptors, exiting
};

// Creates the lists, before any child is forked. Returns 0, or an errno.
int prepare_system_call_lists();

// From now on, all other system calls fail with EPERM in all threads: no new process or thread, file, socket,
// or signal to others. A later call can only restrict further. The process must have no way to gain
// privileges. Returns 0, or an errno.
int confine_system_calls(SystemCalls allowed);

}  // namespace tf::worker::sandbox
