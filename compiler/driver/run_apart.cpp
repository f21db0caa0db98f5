#include "compiler/driver/run_apart.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/owned_fd.h"
#include "base/machine/child_process.h"
#include "base/status.h"

namespace tf::driver {
namespace {

using Clock = std::chrono::steady_clock;

// An answer is one message: of a run, its time; else the text of an error after this letter.
constexpr char kError = 'e';
constexpr size_t kMostBytes = 4 << 10;

void answer(int fd, const absl::StatusOr<double>& ns) {
  std::string message(ns.ok() ? "t" : "e");
  if (ns.ok()) {
    message.append(reinterpret_cast<const char*>(&*ns), sizeof(double));
  } else {
    absl::StrAppend(&message, ns.status().message().substr(0, kMostBytes - 1));
  }
  if (send(fd, message.data(), message.size(), MSG_NOSIGNAL) < 0) _exit(1);
}

// Answers once when it is open, then every request. It has nothing else of the parent's: a lock that is held
// there must not outlive it here.
[[noreturn]] void serve(int fd, const std::function<absl::StatusOr<Run>()>& open) {
  constexpr int kSocket = STDERR_FILENO + 1;
  if (dup2(fd, kSocket) < 0 || close_range(kSocket + 1, ~0U, 0) != 0) _exit(1);
  const absl::StatusOr<Run> run = open();
  answer(kSocket, run.ok() ? absl::StatusOr<double>(0) : run.status());
  for (char request = 0; run.ok() && recv(kSocket, &request, 1, 0) == 1;) answer(kSocket, (*run)());
  _exit(0);
}

class Child {
 public:
  Child(pid_t pid, OwnedFd socket, const RunLimits& limits)
      : pid_(pid), socket_(std::move(socket)), limits_(limits), buffer_(kMostBytes, '\0') {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  absl::StatusOr<double> run() {
    TF_RETURN_IF_ERROR(failed_);
    const char request = 'r';
    if (send(socket_.get(), &request, 1, MSG_NOSIGNAL) != 1) return fail(death());
    return next_answer();
  }

  absl::StatusOr<double> next_answer() {
    constexpr int kLookMs = 50;
    const auto deadline = Clock::now() + absl::ToChronoMilliseconds(limits_.each);
    pollfd ready{socket_.get(), POLLIN, 0};
    while (poll(&ready, 1, kLookMs) <= 0) {
      if (limits_.stop != nullptr && *limits_.stop) return fail(absl::CancelledError("stopped"));
      if (Clock::now() >= deadline)
        return fail(absl::DeadlineExceededError(
            absl::StrCat("it did not finish within ", absl::FormatDuration(limits_.each))));
    }
    const ssize_t bytes = recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (bytes <= 0) return fail(death());
    const std::string_view body(buffer_.data() + 1, static_cast<size_t>(bytes) - 1);
    if (buffer_[0] == kError) return fail(absl::InternalError(std::string(body)));
    double ns = 0;
    std::memcpy(&ns, body.data(), std::min(body.size(), sizeof(ns)));
    return ns;
  }

 private:
  absl::Status fail(absl::Status why) {
    end();
    return failed_ = std::move(why);
  }

  absl::Status death() {
    const int status = end();
    return absl::AbortedError(WIFSIGNALED(status) ? absl::StrCat("it was killed by signal ", WTERMSIG(status))
                                                  : "it ended");
  }

  // Returns its wait status: of a child that was dying already, why.
  int end() {
    if (pid_ <= 0) return 0;
    socket_.reset();
    kill(pid_, SIGKILL);
    return wait_for_end(std::exchange(pid_, -1));
  }

  pid_t pid_;
  OwnedFd socket_;
  const RunLimits limits_;
  std::string buffer_;
  absl::Status failed_;
};

}  // namespace

absl::StatusOr<Run> run_apart(const std::function<absl::StatusOr<Run>()>& open, const RunLimits& limits) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ErrnoToStatus(errno, "cannot run a model: no sockets");
  OwnedFd here(ends[0]);
  OwnedFd there(ends[1]);
  // Ctrl-C is for the parent to answer, and the child has its handlers until they are gone.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork_dependent();
  if (pid == 0) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    serve(there.get(), open);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return absl::ErrnoToStatus(error, "cannot run a model: no process");
  there.reset();  // so that its death is the socket's end
  const auto child = std::make_shared<Child>(pid, std::move(here), limits);
  TF_RETURN_IF_ERROR(child->next_answer().status());
  return Run([child] { return child->run(); });
}

}  // namespace tf::driver
