#pragma once
// Owns: how a runner waits for its job's turn, and the CPUs of its threads before and during the turn. Does
// not know: jobs, drivers.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

class Turn {
 public:
  explicit Turn(int socket) : socket_(socket) {}

  // A job begins: moves all threads of this process to the CPUs `before`, and to `then` when its turn comes.
  void expect(const sandbox::CpuSet& before, const sandbox::CpuSet& then);
  // Waits for the turn, which is one byte on the socket. False: the supervisor is gone.
  bool wait();

 private:
  void move_to(const sandbox::CpuSet& cpus);

  const int socket_;
  sandbox::CpuSet then_ = {}, pinned_ = {};
};

}  // namespace tf::worker::gpu_worker
