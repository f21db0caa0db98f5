#pragma once
// Owns: the threads of calls that wait for the disk or compute for long, so that gRPC's own threads, which
// are two on a small machine, never do. Does not know: what is called.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace tf::rpc {

struct CallPoolOptions {
  std::string what;  // of which there are too many, as in "operators' calls"
  int threads = 4;
  size_t most_waiting = 256;  // besides those that run
};

// Thread-safe. What its work uses must outlive it.
class CallPool {
 public:
  explicit CallPool(CallPoolOptions options);
  ~CallPool() { finish(); }

  // Does what waits and ends the threads: afterwards nothing that they used is looked at any more. Once the
  // server has ended, so that nothing comes after it; by one thread.
  void finish();

  // Has the work done on a thread of the pool, after what was given to it before. UNAVAILABLE: as much waits
  // as may, and this is not done.
  absl::Status run(std::function<void()> work);

 private:
  void work();

  const CallPoolOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tf::rpc
