#include "compiler/cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace tf::compiler_cli {
namespace {

// A handler may do little more than write to a pipe: 'i' for an interrupt, 'q' when nobody waits any more.
int pipe_ends[2] = {-1, -1};

void on_signal(int) {
  const char note = 'i';
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &note, 1);
}

}  // namespace

OnInterrupt::OnInterrupt(std::function<void()> on_interrupt) {
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return;  // Ctrl-C then ends the process as it does without us
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  watcher_ = std::thread([on_interrupt = std::move(on_interrupt)] {
    char note = 'q';
    if (read(pipe_ends[0], &note, 1) == 1 && note == 'i') on_interrupt();
  });
}

OnInterrupt::~OnInterrupt() {
  if (!watcher_.joinable()) return;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  const char note = 'q';
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &note, 1);
  watcher_.join();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace tf::compiler_cli
