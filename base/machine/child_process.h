#pragma once
// Owns: what every parent of processes needs: a child that does not outlive it, and how a child ended. In the
// header alone, because what runs candidates is linked with nothing of ours. Does not know: what children do.

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tf {

// fork(2), whose child the kernel kills when the thread that called this ends, however that comes about.
inline pid_t fork_dependent() {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it had ended before
  }
  return pid;
}

// Waits until the child has ended, whatever interrupts that. Returns its status as waitpid(2) has it, 0 if
// there is no such child; `usage` as wait4(2) has it.
inline int wait_for_end(pid_t pid, rusage* usage = nullptr) {
  int status = 0;
  while (wait4(pid, &status, 0, usage) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace tf
