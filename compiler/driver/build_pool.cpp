#include "compiler/driver/build_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/machine/child_process.h"
#include "base/machine/cpu_list.h"
#include "base/remedy.h"
#include "base/status.h"
#include "compiler/driver/frame.h"
#include "proto/kernel/v1/kernel.pb.h"

extern char** environ;

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;

int64_t whole_seconds(absl::Duration duration) {
  return std::max<int64_t>(1, absl::ToInt64Seconds(duration));
}

// One child. Not thread-safe but for signal().
class Worker {
 public:
  explicit Worker(const BuildPoolOptions& options) : options_(options) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  absl::StatusOr<proto::BuildReply> build(const std::string& request, absl::Duration timeout) {
    TF_RETURN_IF_ERROR(start());
    const Deadline deadline = Deadline::clock::now() + absl::ToChronoNanoseconds(timeout);
    absl::Status sent = write_frame(socket_, request, deadline);
    if (sent.code() == absl::StatusCode::kInvalidArgument) return sent;
    absl::StatusOr<std::string> bytes = sent.ok() ? read_frame(socket_, deadline) : sent;
    proto::BuildReply reply;
    if (bytes.ok() && reply.ParseFromString(*bytes)) {
      if (reply.code() == static_cast<int>(absl::StatusCode::kResourceExhausted)) stop();
      return reply;
    }
    bool late = bytes.status().code() == absl::StatusCode::kDeadlineExceeded;
    std::string end = stop();
    absl::StatusCode code = late || end.find("CPU time") != std::string::npos
                                ? absl::StatusCode::kDeadlineExceeded
                                : absl::StatusCode::kAborted;
    reply.Clear();
    reply.set_code(static_cast<int>(code));
    reply.set_message(
        late ? absl::StrCat("the build took longer than ", absl::FormatDuration(timeout), " and was killed")
             : absl::StrCat("the build worker ", end));
    return reply;
  }

  // From any thread. SIGKILL makes a running build() end soon, also of a stopped child.
  void signal(int number) {
    std::lock_guard lock(pid_mutex_);
    if (pid_ > 0) kill(pid_, number);
  }

 private:
  absl::Status start() {
    if (socket_ >= 0) return absl::OkStatus();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot start a build worker: socketpair: ", strerror(errno)));
    }
    std::string memory = absl::StrCat("--memory-bytes=", options_.memory_bytes);
    std::string cpu = absl::StrCat("--cpu-seconds=", whole_seconds(options_.timeout));
    std::string link_cpu = absl::StrCat("--link-cpu-seconds=", whole_seconds(options_.link_timeout));
    std::vector<char*> argv = {const_cast<char*>(options_.worker_path.c_str()), memory.data(), cpu.data(),
                               link_cpu.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    // LLVM's last words would garble the parent's progress line.
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // Nothing of ours stays open in the child: a database's lock file would stay locked after us.
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A group of its own: the first Ctrl-C drains, so it must not reach builds that are under way.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = -1;
    int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
      close(ends[0]);
      return absl::UnavailableError(
          absl::StrCat("cannot start ", options_.worker_path, ": ", strerror(error)));
    }
    socket_ = ends[0];
    stay_on(options_.cpus, pid);
    std::lock_guard lock(pid_mutex_);
    pid_ = pid;
    return absl::OkStatus();
  }

  // Ends the child and says how it had ended, if it had.
  std::string stop() {
    if (socket_ < 0) return "was not running";
    close(socket_);
    socket_ = -1;
    std::lock_guard lock(pid_mutex_);
    int status = 0;
    // A child that crashed closed its end a moment ago; give it that moment before killing it.
    bool ended = false;
    for (int i = 0; i < 50 && !(ended = waitpid(pid_, &status, WNOHANG) == pid_); ++i) usleep(2000);
    if (!ended) {
      kill(pid_, SIGKILL);
      status = wait_for_end(pid_);
    }
    pid_ = -1;
    if (!ended) return "stopped answering and was killed";
    if (WIFSIGNALED(status)) {
      if (WTERMSIG(status) == SIGXCPU) return "exceeded the CPU time limit of a build";
      return absl::StrCat("was killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
    }
    return absl::StrCat("ended with exit code ", WEXITSTATUS(status));
  }

  const BuildPoolOptions& options_;
  int socket_ = -1;
  std::mutex pid_mutex_;
  pid_t pid_ = -1;
};

absl::StatusOr<std::string> worker_beside_us() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path worker = self.parent_path() / "build_worker";
  if (error || !std::filesystem::exists(worker, error)) {
    return with_remedy(
        absl::StatusCode::kNotFound, absl::StrCat("there is no build worker ", worker.string()),
        "put the build_worker of this version beside this program, or build target build_worker");
  }
  return worker.string();
}

class WorkerPool final : public BuildPool {
 public:
  explicit WorkerPool(BuildPoolOptions options) : options_(std::move(options)) {
    for (int i = 0; i < options_.workers; ++i) {
      workers_.push_back(std::make_unique<Worker>(options_));
      idle_.push_back(workers_.back().get());
    }
  }

  ~WorkerPool() override {
    cancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return idle_.size() == workers_.size(); });
  }

  int slots() const override { return static_cast<int>(workers_.size()); }

  absl::StatusOr<proto::BuildReply> build(const proto::BuildRequest& request) override {
    std::string bytes = request.SerializeAsString();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cancelled_ || (!idle_.empty() && !paused_); });
    if (cancelled_) return absl::CancelledError("the build pool is stopping");
    Worker* worker = idle_.back();  // the most recent one is the warmest
    idle_.pop_back();
    lock.unlock();
    absl::StatusOr<proto::BuildReply> reply =
        worker->build(bytes, request.has_link() ? options_.link_timeout : options_.timeout);
    lock.lock();
    idle_.push_back(worker);
    changed_.notify_all();
    if (cancelled_) return absl::CancelledError("the build pool is stopping");
    return reply;
  }

  // A worker that is just being started runs through a pause; there is one such in the life of most.
  void pause() override { change(paused_, true, SIGSTOP); }
  void resume() override { change(paused_, false, SIGCONT); }
  void cancel() override { change(cancelled_, true, SIGKILL); }

 private:
  void change(bool& flag, bool value, int signal) {
    std::lock_guard lock(mutex_);
    flag = value;
    for (const std::unique_ptr<Worker>& worker : workers_) worker->signal(signal);
    changed_.notify_all();
  }

  const BuildPoolOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  bool cancelled_ = false, paused_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BuildPool>> BuildPool::create(BuildPoolOptions options) {
  if (options.workers < 1) {
    return absl::InvalidArgumentError(absl::StrCat(options.workers, " build workers; at least 1 is needed"));
  }
  if (options.worker_path.empty()) {
    TF_ASSIGN_OR_RETURN(options.worker_path, worker_beside_us());
  } else if (access(options.worker_path.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("build worker ", options.worker_path, ": ", strerror(errno)));
  }
  return std::make_unique<WorkerPool>(std::move(options));
}

}  // namespace tf::driver
