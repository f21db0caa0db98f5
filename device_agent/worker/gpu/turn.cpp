#include "device_agent/worker/gpu/turn.h"

#include <dirent.h>
#include <sys/socket.h>

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

void Turn::expect(const sandbox::CpuSet& before, const sandbox::CpuSet& then) {
  then_ = then;
  move_to(before);
}

bool Turn::wait() {
  char byte = 0;
  ssize_t length = 0;
  do length = recv(socket_, &byte, 1, 0);
  while (length < 0 && errno == EINTR);
  if (length != 1) return false;
  move_to(then_);
  return true;
}

void Turn::move_to(const sandbox::CpuSet& cpus) {
  if (std::memcmp(&cpus, &pinned_, sizeof cpus) != 0) pin_all_threads(cpus);
  pinned_ = cpus;
}

}  // namespace tf::worker::gpu_worker
