// The helper process of device_agent/worker for GPUs: a supervisor, started by a Worker with a socket as its standard input and
// another one as its standard output; and its runners, which are this program again.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "device_agent/worker/gpu/note.h"
#include "device_agent/worker/gpu/runner.h"
#include "device_agent/worker/gpu/supervisor.h"
#include "device_agent/worker/sandbox/file_access.h"

namespace {

using namespace tf::worker;  // NOLINT: the program of this module

bool is_our_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

int run(const char* device) {
  // Where runners share a namespace of processes with the agent, nothing else ends them with their supervisor.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  fcntl(gpu_worker::kRunnerSocket, F_SETFD, FD_CLOEXEC);
  // Where the system has no Landlock, the worker was told to go without it, or does not start this.
  sandbox::forbid_writing("/tmp");
  return gpu_worker::serve_runner(gpu_worker::kRunnerSocket, device);
}

int supervise() {
  const int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 4);
  const int pauses = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 4);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (socket < 0 || pauses < 0 || null < 0) return 1;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (dup2(null, fd) < 0) return 1;
  // By this name it is found whoever it is then, wherever it lies.
  return gpu_worker::supervise(socket, pauses, "/proc/self/exe");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], gpu_worker::kRunnerFlag) == 0 &&
      is_our_socket(gpu_worker::kRunnerSocket))
    return run(argv[2]);
  if (argc == 1 && is_our_socket(STDIN_FILENO) && is_our_socket(STDOUT_FILENO)) return supervise();
  std::fprintf(stderr, "gpu_worker: internal program of device_agent and tuner; do not run it directly\n");
  return 2;
}
