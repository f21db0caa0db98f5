#include "device_agent/worker/sandbox/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/machine/child_process.h"
#include "compiler/runtime/clock.h"
#include "compiler/runtime/large_pages.h"
#include "device_agent/worker/sandbox/confine.h"
#include "device_agent/worker/sandbox/file_access.h"
#include "device_agent/worker/sandbox/harness.h"
#include "device_agent/worker/sandbox/job.h"
#include "device_agent/worker/sandbox/namespaces.h"
#include "device_agent/worker/sandbox/request_socket.h"
#include "device_agent/worker/sandbox/system_calls.h"

namespace tf::worker::sandbox {
namespace {

// The child says at it that it is ready, and waits there for its turn.
struct Gate {
  int ours = -1, theirs = -1;
  bool make() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    ours = ends[0];
    theirs = ends[1];
    return true;
  }
};

// What the zygote is all its life.
struct Zygote {
  int socket;
  int signals;
  CapabilitySet without;
  FlushBuffer flush_buffer;
};

[[noreturn]] void be_child(const Zygote& zygote, const Gate& gate, const Received& received) {
  close(zygote.socket);
  close(zygote.signals);
  close(gate.ours);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(received.fds[kPrintFd], STDOUT_FILENO);
  dup2(received.fds[kPrintFd], STDERR_FILENO);
  const auto* job = static_cast<const Job*>(map_whole(received.fds[kJobFd], PROT_READ));
  auto* result = static_cast<Result*>(map_whole(received.fds[kResultFd], PROT_READ | PROT_WRITE));
  if (job == nullptr || result == nullptr) _exit(1);
  close(received.fds[kJobFd]);
  close(received.fds[kResultFd]);
  close(received.fds[kPrintFd]);
  run_job(*job, zygote.without, zygote.flush_buffer, result, received.fds, gate.theirs);
}

// Kills every process whose parent is now the zygote. Returns false if the system does not list them.
bool kill_adopted() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
  std::FILE* children = std::fopen(path, "re");
  if (children == nullptr) return false;
  int pid;
  while (std::fscanf(children, "%d", &pid) == 1) kill(pid, SIGKILL);
  std::fclose(children);
  return true;
}

// The child is dead. In a process namespace, whose first process the zygote is, all that is left is its
// descendants; elsewhere they are killed level by level: as a subreaper the zygote inherits the orphans.
void reap_descendants(pid_t group) {
  const bool is_first_process = getpid() == 1;
  kill(is_first_process ? -1 : -group, SIGKILL);
  for (;;) {
    const pid_t pid = waitpid(-1, nullptr, is_first_process ? 0 : WNOHANG);
    if (pid < 0 && errno != EINTR) return;  // none left
    if (pid != 0) continue;
    if (!kill_adopted()) return;
    poll(nullptr, 0, 1);
  }
}

struct Watched {
  int socket;
  int signals;
  pid_t pid;
  Request request;
  int gate;
};

enum class Woken { kChildEnded, kDeadline, kParentGone };

enum class Stage { kPreparing, kReady, kRunning };

// Opens the gate as the parent says.
bool let_go(const Watched& watched) {
  Go go;
  if (recv(watched.socket, &go, sizeof go, 0) != sizeof go || go.id != watched.request.id) return false;
  pin(watched.pid, go.cpus);                                 // here, so that it wakes up there
  return write(watched.gate, "", 1) == 1 || errno == EPIPE;  // it has just ended
}

// The time limit counts twice, for making ready and from the gate on; who is ready may wait for its turn.
Woken watch(const Watched& watched) {
  Stage stage = Stage::kPreparing;
  int64_t deadline_ns = tf_monotonic_ns() + watched.request.ready_timeout_ns;
  for (;;) {
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(watched.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0) {
      return Woken::kChildEnded;
    }
    const int64_t left_ns = deadline_ns - tf_monotonic_ns();
    if (left_ns <= 0) return Woken::kDeadline;
    // The parent may have said go long ago, which has to wait: that it has gone is heard without POLLIN.
    const bool prepares = stage == Stage::kPreparing;
    pollfd polled[] = {{watched.signals, POLLIN, 0},
                       {watched.socket, static_cast<short>(prepares ? 0 : POLLIN), 0},
                       {prepares ? watched.gate : -1, POLLIN, 0}};
    const auto timeout_ms = static_cast<int>(std::min<int64_t>(left_ns / 1'000'000 + 1, 1'000'000));
    if (poll(polled, 3, timeout_ms) < 0) continue;
    if (polled[0].revents & POLLIN) {
      signalfd_siginfo ignored;
      if (read(watched.signals, &ignored, sizeof ignored) < 0) continue;
    }
    if (polled[2].revents != 0) {  // ready, or it ends without having been
      stage = Stage::kReady;
      deadline_ns = INT64_MAX;
      continue;
    }
    if (polled[1].revents == 0) continue;
    // Nobody sends anything else until it has ended: otherwise the other end has closed.
    if (stage != Stage::kReady || !let_go(watched)) return Woken::kParentGone;
    stage = Stage::kRunning;
    deadline_ns = tf_monotonic_ns() + watched.request.timeout_ns;
  }
}

int64_t ns_of(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1'000;
}

// Runs one request to its end. False if the parent has gone meanwhile.
bool run_request(Zygote& zygote, const Received& received, Reply* reply) {
  *reply = {};
  reply->id = received.request.id;
  zygote.flush_buffer.grow(received.request.flush_bytes);
  Gate gate;
  const pid_t pid = gate.make() ? fork() : -1;
  if (pid == 0) be_child(zygote, gate, received);
  if (pid < 0) reply->fork_error = errno;
  close_all(received);
  close(gate.theirs);
  if (pid < 0) {
    close(gate.ours);
    return true;
  }
  setpgid(pid, pid);  // also done by the child: whoever comes first
  const Woken woken = watch({zygote.socket, zygote.signals, pid, received.request, gate.ours});
  close(gate.ours);
  if (woken != Woken::kChildEnded) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
  }
  rusage usage = {};
  reply->wait_status = wait_for_end(pid, &usage);
  reap_descendants(pid);
  reply->timed_out = woken == Woken::kDeadline;
  reply->max_resident_bytes = std::max<int64_t>(
      0, int64_t{usage.ru_maxrss} * 1024 - static_cast<int64_t>(zygote.flush_buffer.size_bytes()));
  reply->cpu_ns = ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
  return woken != Woken::kParentGone;
}

// Runs `attempt`, which gives an errno, in a process of its own.
template <typename Attempt>
int error_in_a_child(Attempt attempt) {
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) _exit(attempt());
  const int status = wait_for_end(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

// What is forbidden must fail as expected; EINVAL stands for a system that says it forbids and does not.
int refused_with(int64_t result, int expected) {
  return result < 0 && errno == expected ? 0 : EINVAL;
}

int try_system_call_lists() {
  if (const int error = prepare_system_call_lists(); error != 0) return error;
  return error_in_a_child([] {
    for (const SystemCalls allowed : {SystemCalls::kLoading, SystemCalls::kComputing}) {
      if (const int error = confine_system_calls(allowed); error != 0) return error;
    }
    return refused_with(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
  });
}

int try_file_access() {
  return error_in_a_child([] {
    const int error = forbid_files();
    return error != 0 ? error : refused_with(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES);
  });
}

// In the process that is to serve. False if the sandbox is not as it was asked for.
bool enter_sandbox(int socket, CapabilitySet* without) {
  Setup setup;
  if (recv(socket, &setup, sizeof setup, 0) != sizeof setup) return false;
  *without = setup.without;
  tf_large_page_bytes();  // read now and remembered: the file that says so will be out of sight
  Hello hello = {};
  enter_namespaces(setup.without, &hello);
  if (!setup.without.contains(Capability::kLandlock)) hello[Capability::kLandlock] = try_file_access();
  if (!setup.without.contains(Capability::kSeccomp)) hello[Capability::kSeccomp] = try_system_call_lists();
  if (send(socket, &hello, sizeof hello, MSG_NOSIGNAL) < 0) return false;
  return std::all_of(std::begin(hello.errors), std::end(hello.errors), [](int error) { return error == 0; });
}

}  // namespace

int serve_zygote(int socket) {
  Zygote zygote = {.socket = socket, .signals = -1, .without = {}, .flush_buffer = {}};
  if (!enter_sandbox(socket, &zygote.without)) return 1;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  zygote.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (zygote.signals < 0) return 1;
  Received received;
  while (receive(socket, &received)) {
    Reply reply;
    if (!run_request(zygote, received, &reply)) return 0;
    if (send(socket, &reply, sizeof reply, MSG_NOSIGNAL) < 0) return 0;
  }
  return 0;
}

}  // namespace tf::worker::sandbox
