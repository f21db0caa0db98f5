#pragma once
// Owns: the tuning loop of one network: which task gets the next trial, the pipeline of search, builders and
// devices, what is written to the database, budgets, resuming. It owns all threads of tuning. Does not know:
// gRPC, ONNX, how a candidate is built or measured.

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/driver/builder.h"
#include "compiler/target/target.h"
#include "database/store.h"
#include "tuner/measure/runner.h"
#include "tuner/search/search.h"
#include "tuner/session/task.h"

namespace tf::session {

struct Progress;

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

struct TaskProgress {
  std::string label;
  double weight = 1;
  double flops = 0;
  int64_t trials = 0;
  double best_ns = 0;      // 0: nothing ok yet
  double untuned_ns = 0;   // of the schedule of a build without tuning; 0: not measured
  bool exhausted = false;  // its space has nothing new
  std::string given_up;    // why nothing more is tried; empty if something is
};

// What a session is at.
enum class Phase {
  kMeasuring = 0,
  kFinals,  // what is too close to call is measured again: no trials
  kOver,
};

struct Progress {
  Phase phase = Phase::kMeasuring;
  int64_t trials = 0;    // measured in this job, with any outcome
  int64_t failures = 0;  // of those, not ok and not stopped early
  // Of the failures, how many each way; empty where nobody told.
  std::map<database::Outcome, int64_t> failed_by = {};
  int64_t not_measured = 0;  // attempts that gave no measurement
  // Over the last 30 s, final re-measurements left out; of what is over, of all the job's trials over the
  // time in which there were any: of a longer pause between two, as of a device that was away, 30 s at most.
  double trials_per_second = 0;
  double elapsed_s = 0;               // of the job, earlier runs included
  std::optional<double> remaining_s;  // by the budget; unset without one
  // The share of the network's time that the next minute is expected to save (scheduler.h); unset until every
  // task has had its first trials.
  std::optional<double> expected_gain;
  int slots = 0;                // of devices that measure now
  double without_device_s = 0;  // of elapsed_s, in which no device measured: it counts for no budget
  // Of the seconds in which each device measured, all together, the share inside timed samples of trials.
  double device_busy_share = 0;
  int64_t withdrawn = 0;   // candidates that the model gave up before they were tried
  int64_t duplicates = 0;  // candidates with the code of another: not measured, no trials
  // Between the timed samples of one candidate and the next on the same slot of a device, median; unset
  // without two, and until it is over.
  std::optional<double> median_gap_s;
  // After a stop: trials that are on a device and are waited for. Unset before.
  std::optional<int64_t> finishing;
  int current_task = -1;     // the one that was served last
  bool nothing_new = false;  // it ended before its budget did: no task has anything new to try
  // Its time was over, or its device away, before all that was too close to call had met in a final
  // re-measurement: of some tasks the best is the luckiest of single trials.
  bool undecided = false;
  std::vector<TaskProgress> tasks;
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
