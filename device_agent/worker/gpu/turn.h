#pragma once
// Owns: how a runner learns that it is its job's turn, and which CPUs its threads have before and then: while it still makes
// the job ready, it already gets those of the device if nobody else is measured. Does not know: jobs, drivers.

#include <pthread.h>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

// Of each job one byte comes on the socket, even of one that has ended before its turn; a thread waits for it.
class Turn {
 public:
  explicit Turn(int socket);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();

  // A job begins; all threads of this process go to the first CPUs, and with its turn to the others.
  void expect(const sandbox::CpuSet& before, const sandbox::CpuSet& then);
  // Until its byte has come, now or before; false: the supervisor has gone.
  bool wait();

 private:
  enum class State { kNone, kExpected, kCome, kGone };
  static void* listen(void* self);
  void listen();
  bool receive_byte() const;

  const int socket_, end_;
  pthread_t thread_;
  bool has_thread_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  State state_ = State::kNone;
  sandbox::CpuSet then_ = {}, pinned_ = {};
};

}  // namespace tf::worker::gpu_worker
