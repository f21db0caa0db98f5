#pragma once
// Owns: the network itself as the last judge of what was tuned: built as without tuning and by the records,
// both run in turns on this machine. What each kernel took in there becomes records, by which a build takes
// the untuned schedule wherever the tuned one is no faster in the network (database::Records::best). Does not
// know: ONNX, candidates.

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/race.h"
#include "compiler/driver/build_pool.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "database/store.h"

namespace tf::session {

struct NetworkTrialOptions {
  target::Target target;
  int threads = 1;
  std::string device_class = "local";
  schedule::Numerics allowed_numerics;
  int64_t job_id = 0;
  std::vector<int> cpus;  // that run the network; empty: any
  // No round begins after it but the first few. A second trial, of the kernels that were put back, is left
  // out.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct NetworkTrial {
  double untuned_ns = 0, tuned_ns = 0;  // medians of one run of the network
  Estimate ratio;                       // tuned to untuned, by rounds
  int kernels = 0;                      // distinct ones of the tuned build
  int tuned = 0;                        // of them, with another schedule than the untuned one
  int faster = 0;    // of these, surely faster inside the network than the untuned schedule there
  int put_back = 0;  // no faster there: a build takes the untuned schedule from now on
};

// How long one takes, building included, for a network of so many kernels on a machine of a few cores: what
// to set aside.
double network_trial_seconds(size_t kernels);

// Errors: the graph's, the pool's, the store's; INTERNAL if a model fails. The calling thread waits for one
// that runs the network, in this process: its kernels have had their answers checked in a sandbox before.
absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, database::Store& store,
                                         driver::BuildPool& pool, const NetworkTrialOptions& options);

}  // namespace tf::session
