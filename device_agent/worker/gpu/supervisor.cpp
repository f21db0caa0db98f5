#include "device_agent/worker/gpu/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "compiler/runtime/clock.h"
#include "device_agent/worker/gpu/runner_process.h"
#include "device_agent/worker/sandbox/file_access.h"
#include "device_agent/worker/sandbox/namespaces.h"
#include "device_agent/worker/sandbox/request_socket.h"

namespace tf::worker::gpu_worker {
namespace {

using sandbox::Received;
using sandbox::Reply;

constexpr int64_t kNever = INT64_MAX;

class Supervisor {
 public:
  Supervisor(int socket, int pauses, const char* program)
      : socket_(socket), pauses_(pauses), program_(program) {}

  // Serves one request. False if the parent has gone meanwhile.
  bool serve(const Received& received, Reply* reply) {
    *reply = {.id = received.request.id};
    read_job(received);
    char detail[sandbox::kDetailChars] = "";
    if (!ready_runner(detail)) {
      say_cannot_measure(received, detail);
      return true;
    }
    if (!sandbox::pass_on(current_.socket(), received)) return fail(reply);
    return watch(received, reply);
  }

  // While nothing runs: the next fault costs no time then.
  void keep_spare() {
    if (!spare_.is_running() && has_run_) start(spare_);
  }

  // Until the next request comes, or the parent goes. A runner may have ended while its job's Go was on its way.
  void wait_for_request() {
    pollfd polled[] = {{socket_, POLLIN, 0}, {pauses_, POLLIN, 0}};
    deadline_ns_ = kNever;
    do wait(polled, 2);
    while (polled[0].revents == 0 || sandbox::drops_go(socket_));
  }

 private:
  void read_job(const Received& received) {
    void* mapped = sandbox::map_whole(received.fds[sandbox::kJobFd], PROT_READ);
    if (mapped == nullptr) return;
    const auto* job = static_cast<const sandbox::Job*>(mapped);
    std::memcpy(device_, job->device, sizeof device_ - 1);
    cpus_ = job->device_cpus;
    munmap(mapped, sandbox::file_bytes(received.fds[sandbox::kJobFd]));
  }

  bool ready_runner(char* detail) {
    if (!current_.is_running()) current_.swap(spare_);
    if (!current_.is_running()) {
      if (const int error = start(current_); error != 0) {
        std::snprintf(detail, sandbox::kDetailChars, "cannot start the runner: %s", std::strerror(error));
        return false;
      }
    }
    if (!current_.is_open()) {
      pollfd polled[] = {{current_.socket(), POLLIN, 0}, {pauses_, POLLIN, 0}};
      deadline_ns_ = tf_monotonic_ns() + int64_t{RunnerProcess::kOpenTimeoutMs} * 1'000'000;
      while (wait(polled, 2) && polled[0].revents == 0) {
      }
    }
    return current_.hear_open(detail);
  }

  int start(RunnerProcess& runner) {
    const int error = runner.start(program_, device_, cpus_);
    if (paused_since_ns_ != 0) runner.pause(true);
    return error;
  }

  // Until one of them has something, the last of which are the pauses, which it hears. False: the deadline is over, which is not
  // while runners stand still.
  bool wait(pollfd* polled, nfds_t count) {
    const int64_t left_ns = paused_since_ns_ != 0 ? kNever : deadline_ns_ - tf_monotonic_ns();
    if (left_ns <= 0) return false;
    const auto timeout_ms = static_cast<int>(std::min<int64_t>(left_ns / 1'000'000 + 1, 1'000'000));
    if (poll(polled, count, timeout_ms) < 0) {
      for (nfds_t i = 0; i < count; ++i) polled[i].revents = 0;
    }
    if (polled[count - 1].revents != 0) hear_pause();
    return true;
  }

  // What it stops gets as much more time.
  void hear_pause() {
    sandbox::Pause pause;
    if (recv(pauses_, &pause, sizeof pause, MSG_DONTWAIT) != sizeof pause) {
      pauses_ = -1;  // the parent has gone, which the other socket tells, too
      return;
    }
    const int64_t now_ns = tf_monotonic_ns();
    if (pause.on == 0 && paused_since_ns_ != 0 && deadline_ns_ != kNever)
      deadline_ns_ += now_ns - paused_since_ns_;
    paused_since_ns_ = pause.on != 0 ? now_ns : 0;
    current_.pause(pause.on != 0);
    spare_.pause(pause.on != 0);
    if (pause.on != 0) send(pauses_, &pause, sizeof pause, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  static void say_cannot_measure(const Received& received, const char* detail) {
    void* mapped = sandbox::map_whole(received.fds[sandbox::kResultFd], PROT_READ | PROT_WRITE);
    if (mapped == nullptr) return;
    auto* result = static_cast<sandbox::Result*>(mapped);
    std::snprintf(result->detail, sizeof result->detail, "%s", detail);
    result->end = sandbox::ChildEnd::kCannotMeasure;
    munmap(mapped, sandbox::file_bytes(received.fds[sandbox::kResultFd]));
  }

  // It has ended before the job: as a job that died.
  bool fail(Reply* reply) {
    reply->wait_status = current_.stop();
    return true;
  }

  bool say_ready(const Received& received) const {
    const sandbox::Ready ready = {received.request.id};
    return send(socket_, &ready, sizeof ready, MSG_NOSIGNAL) == sizeof ready;
  }
  // To the runner, too.
  bool hear_go(const Received& received) const {
    sandbox::Go go;
    return recv(socket_, &go, sizeof go, MSG_DONTWAIT) == sizeof go && go.id == received.request.id &&
           send(current_.socket(), "", 1, MSG_NOSIGNAL) == 1;
  }

  // One time limit holds until the job is ready, another from its turn on. Between the two it may wait without limit.
  bool watch(const Received& received, Reply* reply) {
    has_run_ = true;
    bool is_ready = false, has_turn = false;
    deadline_ns_ = tf_monotonic_ns() + received.request.ready_timeout_ns;
    for (;;) {
      pollfd polled[] = {{current_.socket(), POLLIN, 0}, {socket_, POLLIN, 0}, {pauses_, POLLIN, 0}};
      if (!wait(polled, 3)) {
        reply->timed_out = 1;
        return fail(reply);
      }
      if (polled[0].revents != 0) {
        Note note = {};
        if (!current_.read(&note)) return fail(reply);
        if (note.kind == NoteKind::kDone) {
          if (note.is_lost != 0) current_.stop();
          return true;
        }
        deadline_ns_ = kNever;
        if (is_ready || !say_ready(received)) break;
        is_ready = true;
      } else if (polled[1].revents != 0) {
        if (!is_ready || has_turn || !hear_go(received)) break;
        has_turn = true;
        deadline_ns_ = tf_monotonic_ns() + received.request.timeout_ns;
      }
    }
    current_.stop();  // the parent has gone
    return false;
  }

  const int socket_;
  int pauses_;
  const char* const program_;
  char device_[sandbox::kMaxDeviceChars] = "";
  sandbox::CpuSet cpus_ = {};
  RunnerProcess current_, spare_;
  bool has_run_ = false;
  int64_t deadline_ns_ = kNever;
  int64_t paused_since_ns_ = 0;  // 0: not paused
};

// False if the sandbox is not as it was asked for. Runners do the rest: they close the file system to writing.
bool enter_sandbox(int socket) {
  sandbox::Setup setup;
  if (recv(socket, &setup, sizeof setup, 0) != sizeof setup) return false;
  sandbox::Hello hello = {};
  sandbox::enter_namespaces(setup.without, &hello, sandbox::FileSystem::kPrivateTmp);
  if (send(socket, &hello, sizeof hello, MSG_NOSIGNAL) < 0) return false;
  return std::all_of(std::begin(hello.errors), std::end(hello.errors), [](int error) { return error == 0; });
}

}  // namespace

int supervise(int socket, int pauses, const char* program) {
  if (!enter_sandbox(socket)) return 1;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  Supervisor supervisor(socket, pauses, program);
  Received received;
  for (;;) {
    supervisor.wait_for_request();
    if (!sandbox::receive(socket, &received)) return 0;
    Reply reply;
    const bool here = supervisor.serve(received, &reply);
    sandbox::close_all(received);
    if (!here || send(socket, &reply, sizeof reply, MSG_NOSIGNAL) < 0) return 0;
    supervisor.keep_spare();
  }
}

}  // namespace tf::worker::gpu_worker
