#include "compiler/cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace tf::compiler_cli {
namespace {

// A handler may do little more than write to a pipe: 'i' for an interrupt, 'q' when nobody waits any more.
int pipe_ends[2] = {-1, -1};

constexpr int kSignals[] = {SIGINT, SIGTERM};
struct sigaction before[std::size(kSignals)];  // what is put back

bool is_ignored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

// On those signals that the process does not ignore: under nohup, or behind a shell's &, it is to go on.
void set_action(const struct sigaction& action) {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (!is_ignored(before[i])) sigaction(kSignals[i], &action, nullptr);
  }
}

void on_signal(int) {
  const int error = errno;
  struct sigaction end = {};
  end.sa_handler = SIG_DFL;
  set_action(end);  // whichever comes next
  const char note = 'i';
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &note, 1);
  errno = error;
}

}  // namespace

OnInterrupt::OnInterrupt(std::function<void()> on_interrupt) {
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return;  // Ctrl-C then ends the process as it does without us
  watcher_ = std::thread([on_interrupt = std::move(on_interrupt)] {
    char note = 'q';
    if (read(pipe_ends[0], &note, 1) == 1 && note == 'i') on_interrupt();
  });
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  set_action(action);
}

OnInterrupt::~OnInterrupt() {
  if (!watcher_.joinable()) return;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
  const char note = 'q';
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &note, 1);
  watcher_.join();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace tf::compiler_cli
