#pragma once
// Owns: how a runner waits for its job's turn, and which CPUs its threads have before and then. Does not know: jobs, drivers.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

class Turn {
 public:
  explicit Turn(int socket) : socket_(socket) {}

  // A job begins; all threads of this process go to the first CPUs, and with its turn to the others.
  void expect(const sandbox::CpuSet& before, const sandbox::CpuSet& then);
  // Until it is, which is one byte on the socket. False: the supervisor has gone.
  bool wait();

 private:
  void move_to(const sandbox::CpuSet& cpus);

  const int socket_;
  sandbox::CpuSet then_ = {}, pinned_ = {};
};

}  // namespace tf::worker::gpu_worker
