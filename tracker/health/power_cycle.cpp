#include "tracker/health/power_cycle.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/owned_fd.h"
#include "base/machine/child_process.h"
#include "base/text/printable.h"

extern char** environ;

namespace tf::tracker {
namespace {

constexpr size_t kLongestLine = 1000;

constexpr int kLookMs = 200;  // how soon the end of the time, or of the tracker, is noticed

// Logs the lines that come from `fd` until its end; false: given up before that.
bool log_lines(int fd, const std::string& device_id, const std::function<bool()>& give_up) {
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) spdlog::info(absl::StrCat("power cycle of ", device_id, ": ", printable(line)));
    line.clear();
  };
  while (true) {
    if (give_up()) {
      flush();
      return false;
    }
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kLookMs) <= 0) continue;
    char bytes[512];
    const ssize_t count = read(fd, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    for (const char c : std::string_view(bytes, static_cast<size_t>(count))) {
      if (c == '\n' || line.size() >= kLongestLine) flush();
      if (c != '\n') line += c;
    }
  }
  flush();
  return true;
}

// How the child ended, as waitpid(2) has it; nothing: given up before that. It may have closed its output
// long before.
std::optional<int> wait_for(pid_t pid, const std::function<bool()>& give_up) {
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (give_up()) return std::nullopt;
    poll(nullptr, 0, kLookMs);
  }
  return status;
}

bool can_be_run(const std::string& path) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 && S_ISREG(there.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

absl::Status check_program(const std::string& program, std::string_view search_path) {
  if (program.find('/') != std::string::npos) {
    if (can_be_run(program)) return absl::OkStatus();
  } else {
    while (true) {
      const size_t end = search_path.find(':');
      const std::string folder(search_path.substr(0, end));
      if (can_be_run((folder.empty() ? "." : folder) + "/" + program)) return absl::OkStatus();
      if (end == std::string_view::npos) break;
      search_path.remove_prefix(end + 1);
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("cannot find an executable program ", printable(program),
                                                    ": give its path and chmod +x it"));
}

bool PowerCycleLimit::take(const std::string& device_id) {
  std::erase_if(last_, [this](const auto& each) { return clock_.now() >= each.second + interval_; });
  return last_.emplace(device_id, clock_.now()).second;
}

PowerCycler::PowerCycler(const rpc::Clock& clock, PowerCycleOptions options)
    : options_(std::move(options)),
      limit_(clock, options_.interval),
      working_([this] { return run_next(); }, absl::InfiniteDuration()) {}

void PowerCycler::request(const std::string& device_id, const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  if (!limit_.take(device_id)) return;
  if (device_id.starts_with('-')) {
    spdlog::error(absl::StrCat("no power cycle of ", device_id, ": its id begins like an option"));
    return;
  }
  spdlog::warn(absl::StrCat("power cycle of ", device_id, ": ", reason));
  queue_.push_back(device_id);
  working_.wake();
}

absl::Duration PowerCycler::run_next() {
  std::string device_id;
  {
    const std::scoped_lock lock(mutex_);
    if (queue_.empty()) return absl::InfiniteDuration();
    device_id = std::move(queue_.front());
    queue_.pop_front();
  }
  run(device_id);
  return absl::ZeroDuration();
}

void PowerCycler::run(const std::string& device_id) {
  std::vector<std::string> arguments = options_.command;
  arguments.push_back(device_id);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    spdlog::error(absl::StrCat("power cycle of ", device_id, ": no pipe: ", std::strerror(errno)));
    return;
  }
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // its children die with it
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  write_end.reset();
  if (error != 0) {
    spdlog::error(absl::StrCat("power cycle of ", device_id, ": cannot start ", options_.command[0], ": ",
                               std::strerror(error)));
    return;
  }
  const rpc::Instant deadline = rpc::real_clock().now() + options_.timeout;
  const auto give_up = [&] { return stop_.load() || rpc::real_clock().now() >= deadline; };
  std::optional<int> ended;
  if (log_lines(read_end.get(), device_id, give_up)) ended = wait_for(pid, give_up);
  if (!ended) {
    kill(-pid, SIGKILL);
    wait_for_end(pid);
    spdlog::error(absl::StrCat("power cycle of ", device_id, ": ", options_.command[0],
                               " took too long and was killed"));
  } else if (!WIFEXITED(*ended) || WEXITSTATUS(*ended) != 0) {
    spdlog::error(absl::StrCat("power cycle of ", device_id, ": ", options_.command[0], " failed with ",
                               WIFEXITED(*ended) ? WEXITSTATUS(*ended) : -WTERMSIG(*ended)));
  }
}

}  // namespace tf::tracker
