#include "device_agent/worker/gpu/runner_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/machine/child_process.h"
#include "device_agent/worker/gpu/driver_environment.h"
#include "device_agent/worker/sandbox/confine.h"

namespace tf::worker::gpu_worker {
namespace {

int cpus_in(const sandbox::CpuSet& cpus) {
  int count = 0;
  for (const uint64_t word : cpus.words) count += __builtin_popcountll(word);
  return count;
}

}  // namespace

int RunnerProcess::start(const char* program, const char* device, const sandbox::CpuSet& cpus) {
  stop();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kRunnerSocket);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  // What drivers keep goes to the private /tmp; PoCL takes the CPUs of the slot and leaves signals alone.
  char threads[48];
  std::snprintf(threads, sizeof threads, "POCL_MAX_PTHREAD_COUNT=%d", std::max(cpus_in(cpus), 1));
  constexpr int kOwn = 7;
  char* environment[kOwn + kMostForDriver + 1] = {threads,
                                                  const_cast<char*>("PATH=/usr/bin:/bin"),
                                                  const_cast<char*>("HOME=/tmp"),
                                                  const_cast<char*>("TMPDIR=/tmp"),
                                                  const_cast<char*>("POCL_CACHE_DIR=/tmp/pocl"),
                                                  const_cast<char*>("POCL_SIGFPE_HANDLER=0"),
                                                  const_cast<char*>("CUDA_CACHE_PATH=/tmp/cuda")};
  add_for_driver(environ, environment + kOwn);
  if (cpus_in(cpus) == 0) environment[0] = const_cast<char*>("TUNEFARM_RUNNER=1");
  char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(kRunnerFlag),
                             const_cast<char*>(device), nullptr};
  const int error = posix_spawn(&pid_, program, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    pid_ = 0;
    close(ends[0]);
    return error;
  }
  sandbox::pin(pid_, cpus);  // before it has threads, as far as that is to be had
  socket_ = ends[0];
  is_open_ = false;
  return 0;
}

bool RunnerProcess::read(Note* note) const {
  return recv(socket_, note, sizeof *note, MSG_DONTWAIT) == sizeof *note;
}

bool RunnerProcess::hear_open(char* detail) {
  if (is_open_) return true;
  Note note = {};
  if (read(&note) && note.kind == NoteKind::kOpen) {
    is_open_ = true;
    return true;
  }
  note.detail[sizeof note.detail - 1] = 0;
  std::snprintf(
      detail, sandbox::kDetailChars, "%s",
      note.kind == NoteKind::kCannotOpen ? note.detail : "the device's driver did not open it within 60 s");
  stop();
  return false;
}

void RunnerProcess::pause(bool on) const {
  if (pid_ <= 0 || kill(-pid_, on ? SIGSTOP : SIGCONT) != 0 || !on) return;
  siginfo_t info;  // it may have ended, which stop() is to hear
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

int RunnerProcess::stop() {
  if (pid_ <= 0) return 0;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  const int status = wait_for_end(pid_);
  close(socket_);
  pid_ = 0;
  socket_ = -1;
  is_open_ = false;
  return status;
}

void RunnerProcess::swap(RunnerProcess& other) {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(is_open_, other.is_open_);
}

}  // namespace tf::worker::gpu_worker
