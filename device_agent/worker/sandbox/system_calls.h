#pragma once
// Owns: which system calls a child may make (seccomp): a list of those that are allowed. Does not know: when.

namespace tf::worker::sandbox {

enum class SystemCalls {
  kLoading,    // besides: opening files to read, executable memory, and whatever else the dynamic loader
               // needs; a candidate's constructors run here
  kComputing,  // memory, clocks, futexes, writing to open descriptors, ending
};

// Makes the lists, before any child is forked. 0, or an errno.
int prepare_system_call_lists();

// From here on, in all threads, other system calls fail with EPERM: no new process or thread, file, socket,
// or signal to others. Lists add up: a later one can only take away. The process must have no way to gain
// privileges. 0, or an errno.
int confine_system_calls(SystemCalls allowed);

}  // namespace tf::worker::sandbox
