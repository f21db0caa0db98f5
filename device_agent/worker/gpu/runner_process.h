#pragma once
// Owns: one runner as its supervisor sees it: a process and the socket to it. Does not know: jobs.

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

  // 0, or an errno. On those CPUs (none: anywhere); it begins to open the device.
  int start(const char* program, const char* device, const sandbox::CpuSet& cpus);
  bool is_running() const { return pid_ > 0; }
  bool is_open() const { return is_open_; }  // known to be
  int socket() const { return socket_; }
  // The next note, if it has come; false: none has, or it has ended.
  bool read(Note* note) const;
  // Its first note, which has had kOpenTimeoutMs to come, if it has not been read. False: the device is not open, `detail` says
  // why, and the process is gone.
  bool hear_open(char* detail);
  // Stops it where it is, with all that it has started, or has it go on. Returns once it stands still.
  void pause(bool on) const;
  // Kills it with all that it has started; its wait status.
  int stop();
  void swap(RunnerProcess& other);

 private:
  pid_t pid_ = 0;
  int socket_ = -1;
  bool is_open_ = false;
};

}  // namespace tf::worker::gpu_worker
