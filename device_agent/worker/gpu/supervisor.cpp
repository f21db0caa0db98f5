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
  Supervisor(int socket, const char* program) : socket_(socket), program_(program) {}

  // Serves one request. False if the parent has gone meanwhile.
  bool serve(const Received& received, Reply* reply) {
    *reply = {.id = received.request.id};
    read_job(received);
    char detail[sandbox::kDetailChars] = "";
    if (!ready_runner(detail)) {
      say_cannot_measure(received, detail);
      return hear_go(received);
    }
    if (!sandbox::pass_on(current_.socket(), received)) return fail(reply);
    return watch(received, reply);
  }

  // While nothing runs: the next fault costs no time then.
  void keep_spare() {
    if (!spare_.is_running() && has_run_) start(spare_);
  }

  // Takes what comes before the next request. False: that is next, or the end.
  bool hear_other() {
    sandbox::Go stale;  // of a job that ended before its turn
    if (hear_pause(0)) return true;
    return recv(socket_, &stale, sizeof stale, MSG_PEEK | MSG_TRUNC) == sizeof stale &&
           recv(socket_, &stale, sizeof stale, 0) == sizeof stale;
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
    hear_until_open();
    return current_.wait_until_open(detail);
  }

  int start(RunnerProcess& runner) {
    const int error = runner.start(program_, device_, cpus_);
    if (paused_since_ns_ != 0) runner.pause(true);
    return error;
  }

  // Until it is, or fails; or it is this job's turn.
  void hear_until_open() {
    pollfd polled[] = {{current_.socket(), POLLIN, 0}, {socket_, POLLIN, 0}};
    while (!current_.is_open()) {
      const int ready = poll(polled, 2, paused_since_ns_ != 0 ? -1 : RunnerProcess::kOpenTimeoutMs);
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0 || polled[0].revents != 0 || !hear_pause(MSG_DONTWAIT)) return;
    }
  }

  // Takes a Pause if that is next. What it stops gets as much more time.
  bool hear_pause(int flags) {
    sandbox::Pause pause;
    if (recv(socket_, &pause, sizeof pause, MSG_PEEK | MSG_TRUNC | flags) != sizeof pause ||
        recv(socket_, &pause, sizeof pause, 0) != sizeof pause)
      return false;
    const int64_t now_ns = tf_monotonic_ns();
    if (pause.on == 0 && paused_since_ns_ != 0 && deadline_ns_ != kNever)
      deadline_ns_ += now_ns - paused_since_ns_;
    paused_since_ns_ = pause.on != 0 ? now_ns : 0;
    current_.pause(pause.on != 0);
    spare_.pause(pause.on != 0);
    return true;
  }

  static void say_cannot_measure(const Received& received, const char* detail) {
    void* mapped = sandbox::map_whole(received.fds[sandbox::kResultFd], PROT_READ | PROT_WRITE);
    if (mapped == nullptr) return;
    auto* result = static_cast<sandbox::Result*>(mapped);
    std::snprintf(result->detail, sizeof result->detail, "%s", detail);
    result->end = sandbox::ChildEnd::kCannotMeasure;
    munmap(mapped, sandbox::file_bytes(received.fds[sandbox::kResultFd]));
  }

  // The parent says go all the same.
  bool hear_go(const Received& received) {
    while (hear_pause(0)) {
    }
    sandbox::Go go;
    return recv(socket_, &go, sizeof go, 0) == sizeof go && go.id == received.request.id;
  }
  bool give_turn() { return send(current_.socket(), "", 1, MSG_NOSIGNAL) == 1; }

  // It has ended before the job: as a job that died.
  bool fail(Reply* reply) {
    reply->wait_status = current_.stop();
    return true;
  }

  // The time limit counts twice, for making ready and from its turn on; who is ready may wait. The runner hears of its
  // turn at once, even while it still makes ready.
  bool watch(const Received& received, Reply* reply) {
    has_run_ = true;
    bool is_ready = false, has_turn = false;
    const auto start_clock = [&received] { return tf_monotonic_ns() + received.request.timeout_ns; };
    deadline_ns_ = start_clock();
    for (;;) {
      const int64_t left_ns = paused_since_ns_ != 0 ? kNever : deadline_ns_ - tf_monotonic_ns();
      if (left_ns <= 0) {
        reply->timed_out = 1;
        return fail(reply);
      }
      pollfd polled[] = {{current_.socket(), POLLIN, 0}, {socket_, POLLIN, 0}};
      const auto timeout_ms = static_cast<int>(std::min<int64_t>(left_ns / 1'000'000 + 1, 1'000'000));
      if (poll(polled, 2, timeout_ms) < 0) continue;
      if (polled[0].revents != 0) {
        Note note = {};
        if (!current_.read(&note, 0)) return fail(reply);
        if (note.kind == NoteKind::kDone) return finish(has_turn, received, note);
        is_ready = true;
        deadline_ns_ = has_turn ? start_clock() : kNever;
        continue;
      }
      if (polled[1].revents == 0 || hear_pause(MSG_DONTWAIT)) continue;
      if (has_turn || !hear_go(received)) {  // the parent has gone
        current_.stop();
        return false;
      }
      has_turn = true;
      if (is_ready) deadline_ns_ = start_clock();
      if (!give_turn()) return fail(reply);
    }
  }

  // A job may end before it is its turn, which comes all the same.
  bool finish(bool has_turn, const Received& received, const Note& note) {
    const bool here = has_turn || hear_go(received);
    if (note.is_lost != 0) {
      current_.stop();
    } else if (!has_turn && here) {
      give_turn();
    }
    return here;
  }

  const int socket_;
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

int supervise(int socket, const char* program) {
  if (!enter_sandbox(socket)) return 1;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  Supervisor supervisor(socket, program);
  Received received;
  const auto next = [&] {
    while (supervisor.hear_other()) {
    }
    return sandbox::receive(socket, &received);
  };
  while (next()) {
    Reply reply;
    const bool here = supervisor.serve(received, &reply);
    sandbox::close_all(received);
    if (!here || send(socket, &reply, sizeof reply, MSG_NOSIGNAL) < 0) return 0;
    supervisor.keep_spare();
  }
  return 0;
}

}  // namespace tf::worker::gpu_worker
