#pragma once
// Owns: building a network in the build workers of this machine and running it here, in a process of its own.
// Does not know: where its schedules come from, what the times are for.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/build_pool.h"
#include "tuner/measure/runner.h"
#include "tuner/session/network_trial.h"

namespace tf::session {

struct NetworkBenchOptions {
  target::Target target;
  int threads = 1;
  std::string device_class = "local";
  schedule::Numerics allowed_numerics;
  std::vector<int> cpus;  // that run the network; empty: any
  // Past the one, or with the other set, the pool's builds are cancelled, for good. Null: never.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;
};

// Both outlive it. Not thread-safe, and of one thread: processes end with who started them.
std::unique_ptr<NetworkBench> make_network_bench(driver::BuildPool& pool, measure::Runner& runner,
                                                 NetworkBenchOptions options);

}  // namespace tf::session
