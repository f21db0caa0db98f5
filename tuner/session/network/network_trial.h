#pragma once
// Owns: the network comparison: a network is built without tuning and with the fastest records, both builds run in
// turns, and what came of it is stored as the verdict on the network, which builds follow from then on
// (compiler/records/plan.h). Does not know: ONNX, candidates, how a network is built or run.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/statistics/race.h"
#include "compiler/driver/turns.h"
#include "compiler/graph/graph.h"
#include "compiler/records/plan.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "database/store.h"
#include "tuner/session/session.h"

namespace tf::session {

// Where networks are built and run (network_bench.h).
class NetworkBench {
 public:
  virtual ~NetworkBench() = default;
  // Opens a build in a process that ends with the last copy of what it gives. Its errors and its runs' are the
  // build's own, but for CANCELLED. The first one that is opened has the right answers: one that gives others
  // does not open.
  using Open = std::function<absl::StatusOr<driver::Run>()>;
  // Builds by the plan. A choice that cannot be built leaves the plan. CANCELLED or DEADLINE_EXCEEDED if it is
  // stopped; then nothing is built any more.
  virtual absl::StatusOr<Open> build(records::Plan& plan, std::chrono::steady_clock::time_point deadline) = 0;
};

// The untuned side, which is built before tuning: a network that cannot be built is not worth it.
struct UntunedNetwork {
  records::Plan plan;
  NetworkBench::Open open;
};

struct NetworkTrialOptions {
  target::Target target;
  int threads = 1;
  std::string device_class = "local";
  schedule::Numerics allowed_numerics;
  std::string name;  // of the network, for people
  // Nothing begins after it.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;  // once it is set, the trial ends; null: never
};

struct NetworkTrial {
  double untuned_ns = 0, tuned_ns = 0;  // of one run of the network, as paired.h estimates them
  Estimate ratio;                       // tuned to untuned, round by round
  int rounds = 0;                       // 0: nothing was timed, as the verdict says
  database::NetworkVerdict verdict;     // as stored
};

// How long one takes, by what a session knows of its network: what to set aside.
double network_trial_seconds(const Progress& progress);

// Builds take the fastest records if the tuned network is surely faster, and untuned schedules if it is not, if it
// fails, or if it gives other answers. Both builds run until that is decided or does not matter, or the
// deadline. If every kernel's fastest schedule is the untuned one, nothing is run.
//
// Errors: the graph's, the bench's, the store's; INTERNAL if the untuned network fails; DEADLINE_EXCEEDED if it was
// too late for a verdict; CANCELLED once stopped. The verdict of before then stays.
absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, const UntunedNetwork& untuned,
                                         database::Store& store, NetworkBench& bench,
                                         const NetworkTrialOptions& options);

}  // namespace tf::session
