// gpu_worker with runners that have no device: they work until they are told that it is enough (fake_gpu_worker.h).

#include "tests/unit/device_agent/worker/fake_gpu_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device_agent/worker/gpu/note.h"
#include "device_agent/worker/gpu/supervisor.h"
#include "device_agent/worker/sandbox/request_socket.h"

namespace {

using namespace tf::worker;  // NOLINT: a program
using gpu_worker::Note;
using gpu_worker::NoteKind;

bool tell(NoteKind kind) {
  const Note note = {.kind = kind, .is_lost = 0, .detail = {}};
  return send(gpu_worker::kRunnerSocket, &note, sizeof note, MSG_NOSIGNAL) == sizeof note;
}

void work_until(FakeRun& run, const std::atomic<uint32_t>& enough) {
  while (enough == 0) ++run.work;
}

int run() {
  sandbox::Received received;
  if (!tell(NoteKind::kOpen)) return 1;
  while (sandbox::receive(gpu_worker::kRunnerSocket, &received)) {
    auto* run = static_cast<FakeRun*>(
        sandbox::map_whole(received.fds[sandbox::kFirstBlobFd], PROT_READ | PROT_WRITE));
    if (run == nullptr) return 1;
    char turn = 0;
    work_until(*run, run->may_be_ready);
    if (!tell(NoteKind::kPrepared) || run->dies != 0 || recv(gpu_worker::kRunnerSocket, &turn, 1, 0) != 1)
      return 1;
    work_until(*run, run->ends);
    munmap(run, sandbox::file_bytes(received.fds[sandbox::kFirstBlobFd]));
    sandbox::close_all(received);
    if (!tell(NoteKind::kDone)) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return run();
  }
  // Not its runners'.
  const int requests = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 4),
            pauses = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 4);
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  return gpu_worker::supervise(requests, pauses, "/proc/self/exe");
}
