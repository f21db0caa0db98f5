#include "device_agent/worker/gpu/turn.h"

#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device_agent/worker/sandbox/confine.h"

namespace tf::worker::gpu_worker {
namespace {

// What a thread's number is to this process, whose namespace may not be that of /proc; 0: not told.
pid_t own_number(const char* task) {
  char path[64], line[256];
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
  std::FILE* status = std::fopen(path, "re");
  if (status == nullptr) return 0;
  pid_t number = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::strncmp(line, "NSpid:", 6) != 0) continue;
    for (const char* at = line + 6; *at != 0;) {
      char* end = nullptr;
      const long next = std::strtol(at, &end, 10);
      if (end == at) break;
      number = static_cast<pid_t>(next);  // the last is the innermost
      at = end;
    }
  }
  std::fclose(status);
  return number;
}

// Drivers' threads compile and, where the device is the CPU, compute.
void pin_all_threads(const sandbox::CpuSet& cpus) {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return sandbox::pin(0, cpus);
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    if (const pid_t number = own_number(task->d_name); number > 0) sandbox::pin(number, cpus);
  }
  closedir(tasks);
}

}  // namespace

Turn::Turn(int socket) : socket_(socket), end_(eventfd(0, EFD_CLOEXEC)) {
  has_thread_ = end_ >= 0 && pthread_create(&thread_, nullptr, &Turn::listen, this) == 0;
}

Turn::~Turn() {
  if (has_thread_) {
    pthread_mutex_lock(&mutex_);
    state_ = State::kGone;
    pthread_cond_broadcast(&changed_);
    pthread_mutex_unlock(&mutex_);
    eventfd_write(end_, 1);
    pthread_join(thread_, nullptr);
  }
  if (end_ >= 0) close(end_);
}

void Turn::expect(const sandbox::CpuSet& before, const sandbox::CpuSet& then) {
  if (std::memcmp(&before, &pinned_, sizeof before) != 0) pin_all_threads(before);
  pthread_mutex_lock(&mutex_);
  pinned_ = before;
  then_ = then;
  if (state_ != State::kGone) state_ = has_thread_ ? State::kExpected : State::kGone;
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&mutex_);
}

bool Turn::wait() {
  pthread_mutex_lock(&mutex_);
  while (state_ == State::kExpected) pthread_cond_wait(&changed_, &mutex_);
  const bool has_come = state_ == State::kCome;
  pthread_mutex_unlock(&mutex_);
  return has_come;
}

void* Turn::listen(void* self) {
  static_cast<Turn*>(self)->listen();
  return nullptr;
}

void Turn::listen() {
  pthread_mutex_lock(&mutex_);
  while (state_ != State::kGone) {
    if (state_ != State::kExpected) {
      pthread_cond_wait(&changed_, &mutex_);
      continue;
    }
    const sandbox::CpuSet cpus = then_;
    const bool moves = std::memcmp(&cpus, &pinned_, sizeof cpus) != 0;
    pthread_mutex_unlock(&mutex_);
    const bool has_come = receive_byte();
    if (has_come && moves) pin_all_threads(cpus);
    pthread_mutex_lock(&mutex_);
    pinned_ = cpus;
    state_ = has_come && state_ != State::kGone ? State::kCome : State::kGone;
    pthread_cond_broadcast(&changed_);
  }
  pthread_mutex_unlock(&mutex_);
}

// False: the supervisor has gone, or this ends.
bool Turn::receive_byte() const {
  pollfd polled[] = {{socket_, POLLIN, 0}, {end_, POLLIN, 0}};
  while (poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
  char byte = 0;
  return polled[0].revents != 0 && recv(socket_, &byte, 1, MSG_DONTWAIT) == 1;
}

}  // namespace tf::worker::gpu_worker
