#pragma once
// Owns: the network itself as the last judge of what was tuned: built as without tuning and by the records,
// both run in turns. What each kernel took in there becomes records, by which a build takes the untuned
// schedule wherever the tuned one is not surely faster in the network (database::Records::best). Does not
// know: ONNX, candidates, how a network is built or run.

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/race.h"
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
  // Opens a build once more, in a process that ends with the last copy of what it gives. Its errors and its
  // runs' are the build's own, but for CANCELLED.
  using Open = std::function<absl::StatusOr<driver::Run>()>;
  // Builds by the plan; what is run are the calls of the plan's program. A choice that cannot be built leaves
  // the plan. CANCELLED or DEADLINE_EXCEEDED if it is stopped.
  virtual absl::StatusOr<Open> build(records::Plan& plan) = 0;
  // As it is now.
  virtual absl::StatusOr<database::DeviceState> device() = 0;
};

struct NetworkTrialOptions {
  target::Target target;
  int threads = 1;
  std::string device_class = "local";
  schedule::Numerics allowed_numerics;
  int64_t job_id = 0;
  // Nothing begins after it, nor what by the one before it would not end before.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;  // once it is set, the trial ends; null: never
};

struct NetworkTrial {
  double untuned_ns = 0, tuned_ns = 0;  // of one run of the network, as base/paired.h estimates them
  Estimate ratio;                       // tuned to untuned, visit by visit
  int visits = 0;                       // to both builds, each in new processes
  bool all_untuned = false;             // every kernel is the untuned one: no visits, times or ratio
  int kernels = 0;                      // distinct ones of the tuned build
  int tuned = 0;                        // of them, by a schedule that is not known to be the untuned one
  int faster = 0;  // of these, surely faster inside the network than the untuned schedule there
  int lost = 0;  // of those tuned, not surely faster there: a build from now on is not the one that was timed
  int other_layouts = 0;  // of them, between other layouts than any of the untuned build: not compared
  int unmeasured = 0;     // of them, whose untuned schedule was never measured: not compared
  int put_back = 0;       // not surely faster there: a build takes the untuned schedule from now on
  int untried = 0;        // likewise, but a build takes another that was not tried there
  int failed = 0;         // schedules with which the network crashed or hung: no build takes them from now on
};

// How long one takes, by what a session knows of its network: what to set aside.
double network_trial_seconds(const Progress& progress);

// Runs the network with the fastest schedules that were measured here, sure or not, but for those that lost
// inside the network before; then, while some lose and time is left, with what a build takes instead. What no
// run of this database measured here, imports among it, is not run: the untuned schedule stands in for it,
// though a build takes it. Here is any machine like this one, by what the database's rows say. It runs until
// what is not decided does not matter, or the deadline; not at all if every kernel is the untuned one.
//
// Where the network does not run as it was tuned, the schedule that is to blame is looked for by building
// with half of the suspects at a time; it, or, of all that are left when it is too late to look, those that
// ran in no build that came to a verdict, are recorded as failures. Nothing is if it does run when asked once
// more.
//
// Errors: the graph's, the bench's, the store's; DEADLINE_EXCEEDED if it was too late for a verdict; ABORTED
// if, of all that was tried, nothing but the untuned network ran, or if it does not run any more by schedules
// that all did; CANCELLED once stopped.
absl::StatusOr<NetworkTrial> try_network(const graph::Graph& network, database::Store& store,
                                         NetworkBench& bench, const NetworkTrialOptions& options);

}  // namespace tf::session
