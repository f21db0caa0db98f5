#pragma once
// Owns: the supervisor's view of a runner: a process and the socket to it. Does not know: jobs.

#include <sys/types.h>

#include <cstdint>

#include "device_agent/worker/gpu/note.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

class RunnerProcess {
 public:
  static constexpr int kOpenTimeoutMs = 60'000;  // some drivers take seconds

  RunnerProcess() = default;
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;
  ~RunnerProcess() { stop(); }

  // Starts the runner on these CPUs (none: on all); it begins to open the device. Returns 0, or an errno.
  int start(const char* program, const char* device, const sandbox::CpuSet& cpus);
  bool is_running() const { return pid_ > 0; }
  bool is_open() const { return is_open_; }  // true once the note kOpen was read
  int socket() const { return socket_; }
  // Reads the next note. False if none has arrived, or if the process has ended.
  bool read(Note* note) const;
  // Waits up to kOpenTimeoutMs for the first note, unless it was read already. False: the device is not open,
  // `detail` says why, and the process is gone.
  bool hear_open(char* detail);
  // Stops the process and all processes that it started (returns when they have stopped), or lets them
  // continue.
  void pause(bool on) const;
  // Kills the process and all processes that it started. Returns its wait status.
  int stop();
  void swap(RunnerProcess& other);

 private:
  pid_t pid_ = 0;
  int socket_ = -1;
  bool is_open_ = false;
};

}  // namespace tf::worker::gpu_worker
