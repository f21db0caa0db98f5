#include "device_agent/worker/zygote_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/machine/child_process.h"
#include "base/remedy.h"
#include "base/status.h"
#include "compiler/runtime/clock.h"
#include "device_agent/worker/gpu/driver_environment.h"

namespace tf::worker {
namespace {

// The zygote keeps the deadlines, for making ready and for running; this long after them we take it for dead. One for GPUs may
// have to open its device first, and to end a process that a driver holds.
constexpr int64_t kGraceNs = 5'000'000'000;
constexpr int64_t kOpenNs = 90'000'000'000;
constexpr int kPauseTimeoutMs = 1000;  // beyond which it is busy ending such a process, or dead
constexpr int kStartTimeoutMs = 10'000;

std::string program_of(const Helper& helper) {
  if (!helper.path.empty()) return helper.path;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / helper.name).string();
}

struct Pipe {
  OwnedFd read, write;
};

absl::StatusOr<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

absl::Status make_socket_pair(OwnedFd* one, OwnedFd* other) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a socket pair: ", std::strerror(errno)));
  }
  *one = OwnedFd(ends[0]);
  *other = OwnedFd(ends[1]);
  return absl::OkStatus();
}

// posix_spawn and not fork: the process that starts us may have threads and fork handlers (gRPC's) of its
// own.
absl::StatusOr<pid_t> spawn(const std::string& program, int socket, int pauses) {
  const bool has_driver = pauses >= 0;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  if (has_driver) posix_spawn_file_actions_adddup2(&actions, pauses, STDOUT_FILENO);
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // Its own group: Ctrl-C at a terminal is for us, and we decide what it means for a running trial.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  char* environment[kMostForDriver + 1] = {};
  if (has_driver) add_for_driver(environ, environment);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", program));
  return pid;
}

// Takes what is there. Beyond `limit` it is read and dropped, so that the child never blocks on a full pipe.
void drain(int fd, uint64_t limit, std::string* kept) {
  char chunk[4096];
  for (int rounds = 0; rounds < 64;
       ++rounds) {  // a flood must not keep us from looking at the other descriptors
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n <= 0) return;
    const uint64_t room = limit > kept->size() ? limit - kept->size() : 0;
    kept->append(chunk, std::min<uint64_t>(static_cast<uint64_t>(n), room));
  }
}

void read_marks(int fd, ChildRun* run) {
  if (!run->cpu_before_loading_ns) {
    sandbox::Loading loading;
    if (::read(fd, &loading, sizeof loading) != sizeof loading) return;
    run->cpu_before_loading_ns = loading.cpu_ns;
  }
  char marks[16];
  const ssize_t n = ::read(fd, marks, sizeof marks);
  for (ssize_t i = 0; i < n; ++i) {
    if (marks[i] == sandbox::kTimingStarts && run->timing_started_ns == 0)
      run->timing_started_ns = tf_monotonic_ns();
    if (marks[i] == sandbox::kTimingEnds) run->timing_ended_ns = tf_monotonic_ns();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ZygoteClient>> ZygoteClient::start(const Helper& helper, CapabilitySet without,
                                                                  std::vector<CapabilityState>* missing) {
  const std::string program = program_of(helper);
  if (::access(program.c_str(), X_OK) != 0) {
    return with_remedy(absl::StatusCode::kNotFound, absl::StrCat("cannot find the program ", program),
                       absl::StrCat("build the target ", helper.name));
  }
  Cgroup cgroup;
  for (const auto& [capability, controller] : {std::pair{Capability::kPidsCgroup, Controller::kPids},
                                               std::pair{Capability::kMemoryCgroup, Controller::kMemory}}) {
    if (without.contains(capability)) continue;
    if (const absl::Status bound = cgroup.bound(controller); !bound.ok())
      missing->push_back(missing_capability(capability, std::string(bound.message())));
  }
  Ends ours, theirs;
  TF_RETURN_IF_ERROR(make_socket_pair(&ours.requests, &theirs.requests));
  if (helper.has_driver) TF_RETURN_IF_ERROR(make_socket_pair(&ours.pauses, &theirs.pauses));
  TF_ASSIGN_OR_RETURN(const pid_t pid, spawn(program, theirs.requests.get(), theirs.pauses.get()));
  theirs = {};
  std::unique_ptr<ZygoteClient> client(new ZygoteClient(helper, std::move(ours), pid, std::move(cgroup)));
  TF_RETURN_IF_ERROR(client->enter_sandbox(without, missing));
  return client;
}

// It waits for the first message before it makes any process.
absl::Status ZygoteClient::enter_sandbox(CapabilitySet without, std::vector<CapabilityState>* missing) {
  TF_RETURN_IF_ERROR(cgroup_.add(pid_));
  const sandbox::Setup setup = {without};
  if (::send(socket_.get(), &setup, sizeof setup, MSG_NOSIGNAL) != sizeof setup) return gone();
  pollfd polled = {socket_.get(), POLLIN, 0};
  while (::poll(&polled, 1, kStartTimeoutMs) < 0 && errno == EINTR) {
  }
  sandbox::Hello hello;
  if (::recv(socket_.get(), &hello, sizeof hello, MSG_DONTWAIT) != sizeof hello) return gone();
  for (uint32_t i = 0; i < sandbox::kCapabilityCount; ++i) {
    if (hello.errors[i] == 0) continue;
    missing->push_back(missing_capability(static_cast<Capability>(i), std::strerror(hello.errors[i])));
  }
  return missing->empty() ? absl::OkStatus() : refuse_missing(*missing);
}

ZygoteClient::~ZygoteClient() {
  kill();
  std::lock_guard lock(pid_mutex_);
  wait_for_end(std::exchange(pid_, 0));
}

// What the job is limited to anyway, the result memory in it, for the whole tree of processes. The helper's
// flush buffers stay in it.
void ZygoteClient::bound(const sandbox::Job& job) {
  cgroup_.limit_memory(job.memory_bytes + flush_bytes_ + helper_.own_bytes +
                       sandbox::kThreadBytes * job.threads);
  cgroup_.limit_processes(job.threads + helper_.own_processes);
}

bool ZygoteClient::pause(bool on) {
  const int64_t now_ns = tf_monotonic_ns();
  if (on) {
    paused_since_ns_ = now_ns;
  } else if (const int64_t since_ns = paused_since_ns_; since_ns != 0) {
    paused_before_ns_ += now_ns - since_ns;  // first: who reads in between waits too long, not too short
    paused_since_ns_ = 0;
  }
  sandbox::Pause pause = {};
  while (::recv(pauses_.get(), &pause, sizeof pause, MSG_DONTWAIT) ==
         sizeof pause) {  // of an earlier one, too late
  }
  pause.on = on ? 1 : 0;
  // Who has gone needs none.
  if (::send(pauses_.get(), &pause, sizeof pause, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof pause || !on)
    return true;
  pollfd polled = {pauses_.get(), POLLIN, 0};
  while (::poll(&polled, 1, kPauseTimeoutMs) < 0 && errno == EINTR) {
  }
  return polled.revents != 0 && ::recv(pauses_.get(), &pause, sizeof pause, MSG_DONTWAIT) == sizeof pause;
}

int64_t ZygoteClient::paused_ns() const {
  const int64_t since_ns = paused_since_ns_;
  return paused_before_ns_ + (since_ns == 0 ? 0 : tf_monotonic_ns() - since_ns);
}

void ZygoteClient::kill() {
  std::lock_guard lock(pid_mutex_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  cgroup_.kill_all();
}

absl::Status ZygoteClient::gone() {
  return absl::UnavailableError("the process that runs candidates died: try again");
}

absl::Status ZygoteClient::send(const sandbox::Request& request, std::span<const int> fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * sandbox::kMaxFds)] = {};
  iovec data = {const_cast<sandbox::Request*>(&request), sizeof request};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) return gone();
  return absl::OkStatus();
}

// Until it says that it is ready, or how it has ended.
absl::Status ZygoteClient::collect(Prepared& prepared, uint64_t output_bytes, int64_t limit_ns) {
  auto& [request, run, print, status, has_ended] = prepared;
  const int64_t give_up_ns = tf_monotonic_ns() + limit_ns - paused_ns();
  for (;;) {
    pollfd polled[] = {{socket_.get(), POLLIN, 0}, {print.get(), POLLIN, 0}, {status.get(), POLLIN, 0}};
    const int64_t left_ns = give_up_ns + paused_ns() - tf_monotonic_ns();
    if (left_ns <= 0) return gone();
    if (::poll(polled, 3, static_cast<int>(std::min<int64_t>(left_ns / 1'000'000 + 1, 1'000'000))) < 0)
      continue;
    if (polled[2].revents & POLLIN) read_marks(status.get(), &run);
    if (polled[1].revents & POLLIN) drain(print.get(), output_bytes, &run.printed);
    if (polled[0].revents != 0) {
      const ssize_t length = ::recv(socket_.get(), &run.reply, sizeof run.reply, 0);
      if (length == sizeof(sandbox::Ready)) return absl::OkStatus();
      if (length != sizeof run.reply) return gone();
      has_ended = true;
      drain(print.get(), output_bytes, &run.printed);  // nobody writes any more
      read_marks(status.get(), &run);
      return absl::OkStatus();
    }
    // A closed pipe is readable for ever: stop looking.
    if ((polled[1].revents & (POLLIN | POLLHUP)) == POLLHUP) print.reset();
    if ((polled[2].revents & (POLLIN | POLLHUP)) == POLLHUP) status.reset();
  }
}

absl::Status ZygoteClient::prepare(const sandbox::Job& job, std::span<const OwnedFd> blobs,
                                   uint64_t result_bytes, size_t at_once) {
  prepared_ = {};
  TF_ASSIGN_OR_RETURN(prepared_.run.memory, SharedMemory::create(result_bytes));
  TF_ASSIGN_OR_RETURN(OwnedFd job_file,
                      sealed_file("tf_job", {reinterpret_cast<const char*>(&job), sizeof job}));
  TF_ASSIGN_OR_RETURN(Pipe print, make_pipe());
  TF_ASSIGN_OR_RETURN(Pipe status, make_pipe());
  std::vector<int> fds = {job_file.get(), prepared_.run.memory.fd(), print.write.get(), status.write.get()};
  for (const OwnedFd& blob : blobs) fds.push_back(blob.get());
  prepared_.run.ready_timeout_ns = job.timeout_ns * static_cast<int64_t>(at_once);
  prepared_.request = {next_id_++, prepared_.run.ready_timeout_ns, job.timeout_ns, job.reuse_distance_bytes};
  flush_bytes_ = std::max(flush_bytes_, job.reuse_distance_bytes);
  bound(job);
  prepared_.print = std::move(print.read);
  prepared_.status = std::move(status.read);
  return send(prepared_.request, fds);
}

absl::StatusOr<bool> ZygoteClient::wait_until_ready(uint64_t output_bytes) {
  TF_RETURN_IF_ERROR(
      collect(prepared_, output_bytes, prepared_.request.ready_timeout_ns + kOpenNs + kGraceNs));
  return !prepared_.has_ended;
}

absl::StatusOr<ChildRun> ZygoteClient::run(const sandbox::CpuSet& cpus, uint64_t output_bytes) {
  Prepared prepared = std::exchange(prepared_, {});
  ChildRun& run = prepared.run;
  run.sent_ns = tf_monotonic_ns();
  if (!prepared.has_ended) {
    const sandbox::Go go = {prepared.request.id, cpus};
    if (::send(socket_.get(), &go, sizeof go, MSG_NOSIGNAL) != sizeof go) return gone();
    const auto& [id, ready_timeout_ns, timeout_ns, flush_bytes] = prepared.request;
    TF_RETURN_IF_ERROR(collect(prepared, output_bytes, ready_timeout_ns + timeout_ns + kGraceNs));
  }
  if (run.reply.id != prepared.request.id) return gone();
  if (run.reply.fork_error != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a process: ", absl::ErrnoToStatus(run.reply.fork_error, "").message()));
  }
  std::memcpy(&run.result, run.memory.data(), sizeof run.result);
  return std::move(run);
}

}  // namespace tf::worker
