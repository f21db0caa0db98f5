#pragma once
// Owns: building a network in the build workers of this machine and running it here, in a process of its own.
// Does not know: where its schedules come from, what the times are for.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/build_pool.h"
#include "tuner/session/network/network_trial.h"

namespace tf::session {

struct NetworkBenchOptions {
  target::Target target;
  int threads = 1;
  schedule::Numerics allowed_numerics;
  std::vector<int> cpus;  // that run the network; empty: any
  int gpu = 0;            // the number, among its driver's, of the one that runs it, if the target is a GPU
  // Once it is set, the pool's builds are cancelled, for good, and what runs is ended. Null: never.
  const std::atomic<bool>* stop = nullptr;
};

// The pool outlives it. Not thread-safe, and of one thread: processes end with who started them. Of answers, those
// in floating point are compared: each may differ from the right one by a hundredth of the largest of its output,
// a tenth with reduced precision.
std::unique_ptr<NetworkBench> make_network_bench(driver::BuildPool& pool, NetworkBenchOptions options);

}  // namespace tf::session
