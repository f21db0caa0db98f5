#pragma once
// Owns: the tuning loop of one network: which task gets the next trial, the pipeline of search, builders and
// devices, what is written to the database, budgets, resuming. It owns all threads of tuning. Does not know:
// gRPC, ONNX, how a candidate is built or measured.

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/driver/builder.h"
#include "compiler/target/target.h"
#include "database/store.h"
#include "proto/tune/v1/progress.pb.h"
#include "tuner/measure/runner.h"
#include "tuner/search/search.h"
#include "tuner/session/task.h"

namespace tf::session {

// How a session stands. The message is the value that is filled, sent, shown and printed.
using tunefarm::tune::v1::Phase;
using tunefarm::tune::v1::PHASE_FINALS;
using tunefarm::tune::v1::PHASE_MEASURING;
using tunefarm::tune::v1::PHASE_OVER;
using tunefarm::tune::v1::Progress;
using tunefarm::tune::v1::TaskProgress;

// Of the whole job, what it spent before a restart included.
struct Budget {
  int64_t trials = 0;  // 0: no limit
  double minutes = 0;  // of tuning, final re-measurements included; 0: no limit
  // Tuning ends once the next minute is expected to save less than this share of the network's time; 0: no
  // limit.
  double until_gain = 0;
  // Of the minutes, how many seconds are left for who comes after the session, by what it knows by then;
  // empty: none.
  std::function<double(const Progress&)> reserve_s = nullptr;
};

struct SessionOptions {
  target::Target target;
  // Of the machine that runs references, where that is not the target itself, as for a GPU's.
  std::optional<target::Target> reference_target = std::nullopt;
  int threads = 1;                     // of each measured kernel
  std::string device_class = "local";  // recorded with each measurement
  Budget budget;
  search::Kind strategy = search::Kind::kEvolutionary;
  uint64_t seed = 1;
  std::vector<std::string> allowed_numerics;
  // Before a candidate that could not be measured is tried again; twice that before the third try.
  absl::Duration retry_delay = absl::Seconds(3);
  int64_t job_id = 0;  // of the store; 0: none
  // Builders and devices use the same CPUs of this machine, so that they take turns.
  bool takes_turns = false;
  // Of these CPUs none is left to this process: it searches and learns where candidates are timed, in turns.
  bool has_no_cpu = false;
  // In the end, the best of each task that are too close to call meet in a final re-measurement (finals.h).
  // Not the baseline's.
  bool finals = true;
  // What the machine reaches is measured before anything else, unless the store knows it (calibration.h).
  bool calibration = true;
  absl::Duration calibration_wait = absl::Seconds(10);  // for so long candidates wait for them
};

// Runs until the budget is spent, every space is exhausted, or `stop` is set (a drain: what is being measured
// is finished and recorded). Everything acknowledged by the store before a crash is used again by the next
// run with the same tasks and store: measured candidates are not measured twice and count for the budget of
// their job.
//
// `report` is called from the calling thread, about four times a second. Errors: what the store, the builder
// or the runner says when they cannot go on at all (NOT_FOUND for an unknown device key, say); failed
// candidates are no errors. After a stop or an error the builder may be cancelled.
absl::StatusOr<Progress> tune(const std::vector<Task>& tasks, const SessionOptions& options,
                              driver::Builder& builder, measure::Runner& runner, database::Store& store,
                              const std::atomic<bool>& stop,
                              const std::function<void(const Progress&)>& report);

}  // namespace tf::session
